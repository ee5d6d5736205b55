// Where the axes have their ticks.

/** Steps of 1, 2 or 5 times a power of ten. */
export function ticks(from: number, to: number, wanted: number): number[] {
  const raw = (to - from) / wanted;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= raw * 0.9999)!;
  const made: number[] = [];
  for (let at = Math.ceil(from / step - 1e-9) + 0; at * step <= to + step * 1e-9; at++)
    made.push(at * step + 0);
  return made;
}

/** Powers of ten, some left out where there are many; 1, 2 and 5 where there are few. */
export function logTicks(from: number, to: number, wanted: number): number[] {
  const [low, high] = [Math.floor(Math.log10(from)), Math.ceil(Math.log10(to))];
  const powers: number[] = [];
  for (let power = low; power <= high; power++) powers.push(power);
  const inside = (value: number) => value >= from * 0.9999 && value <= to * 1.0001;
  const whole = powers.filter((power) => inside(10 ** power));
  const every = Math.ceil(whole.length / wanted);
  if (whole.length >= 3)
    return whole.filter((power) => power % every === 0).map((power) => 10 ** power);
  return powers
    .flatMap((power) => [1, 2, 5].map((factor) => Number(`${factor}e${power}`)))
    .filter(inside);
}
