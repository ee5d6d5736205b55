// The span of time that all plots show, and the cursor that they share.

export type Span = [from: number, to: number];

export class TimeView {
  private wholeSpan: Span = [0, 1];
  private shown: Span = [0, 1];
  private at: number | null = null;
  private readonly onSpan = new Set<() => void>();
  private readonly onCursor = new Set<() => void>();

  get whole(): Span {
    return this.wholeSpan;
  }

  get span(): Span {
    return this.shown;
  }

  get cursor(): number | null {
    return this.at;
  }

  get zoomed(): boolean {
    return this.shown[0] !== this.wholeSpan[0] || this.shown[1] !== this.wholeSpan[1];
  }

  listen(span: () => void, cursor: () => void): () => void {
    this.onSpan.add(span);
    this.onCursor.add(cursor);
    return () => {
      this.onSpan.delete(span);
      this.onCursor.delete(cursor);
    };
  }

  /** The span of the run; a zoom stays as long as it lies in it. */
  setWhole(whole: Span): void {
    if (whole[0] === this.wholeSpan[0] && whole[1] === this.wholeSpan[1]) return;
    const was = this.zoomed;
    this.wholeSpan = whole;
    const inside = this.shown[0] >= whole[0] && this.shown[1] <= whole[1];
    if (!was || !inside) this.shown = [...whole];
    this.onSpan.forEach((listener) => listener());
  }

  /** Shows a span, kept within the run and at least a nanosecond long. */
  show([from, to]: Span): void {
    const [least, most] = this.wholeSpan;
    const length = Math.min(most - least, Math.max(1e-9, to - from));
    const start = Math.min(Math.max(from, least), most - length);
    if (start === this.shown[0] && start + length === this.shown[1]) return;
    this.shown = [start, start + length];
    this.onSpan.forEach((listener) => listener());
  }

  reset(): void {
    this.show(this.wholeSpan);
  }

  /** Zooms around a time: a factor below 1 shows less. */
  zoom(factor: number, around = (this.shown[0] + this.shown[1]) / 2): void {
    const [from, to] = this.shown;
    this.show([around - (around - from) * factor, around + (to - around) * factor]);
  }

  /** Moves by a share of what is shown. */
  pan(share: number): void {
    const [from, to] = this.shown;
    this.show([from + share * (to - from), to + share * (to - from)]);
  }

  point(at: number | null): void {
    if (at === this.at) return;
    this.at = at;
    this.onCursor.forEach((listener) => listener());
  }
}
