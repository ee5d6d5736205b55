// A sentence about a sender at a time: what binds it, by its columns `bound`, `limit` and `state`.

import type { Run, Table } from "../engine/types";
import { withUnit } from "../ui/units";
import { lowerBound, wordAt } from "./ways";

/** What each word of the column `bound` means, as the rest of a sentence. */
const BOUNDS: Record<string, string> = {
  application: "has nothing to send: the application has written no more",
  send_buffer: "is held by its send buffer",
  window: "is held by its congestion window",
  rate: "is held by its allowed rate",
  minimum_interval: "is held by the least interval between its packets",
  pacer: "waits for its pacer",
  receiver_credit: "is held by the receiver: it may send no more",
  anti_amplification: "may not send more before the peer's address is validated",
  nothing: "is held by nothing",
};

/** The sentence of a flow; empty before its first row. */
export function sentence(run: Run, flow: string, t: number): string {
  const table = run.tables.find(({ name }) => name === `flows/${flow}`);
  const row = table ? rowAt(table, t) : -1;
  if (!table || row < 0) {
    return "";
  }
  const bound = wordAt(table.words.bound, row);
  const text = BOUNDS[bound];
  if (text === undefined) {
    return `${flow} has not sent yet.`;
  }
  const number = (name: string, unit: string) => {
    const value = table.numbers[name]?.[row];
    return value === undefined || Number.isNaN(value) ? null : withUnit(value, unit, 3);
  };
  const parts = [`${flow} ${text}`];
  if (bound === "window") {
    const [window, flight] = [number("cwnd_bytes", "bytes"), number("bytes_in_flight", "bytes")];
    parts.push(window ? ` of ${window}` : "", flight ? `, with ${flight} in flight` : "");
  } else if (bound === "rate" || bound === "minimum_interval") {
    const rate = number("allowed_rate_bps", "bit/s");
    parts.push(rate ? ` of ${rate}` : "");
  } else if (bound === "pacer") {
    const rate = number("pacing_rate_bps", "bit/s");
    parts.push(rate ? `, which sends at ${rate}` : "");
  } else if (bound === "receiver_credit") {
    const window = number("receive_window_bytes", "bytes");
    parts.push(window ? ` than ${window}` : "");
  }
  const rule = wordAt(table.words.limit, row).replaceAll("_", " ");
  const state = wordAt(table.words.state, row).replaceAll("_", " ");
  const isRule = rule !== "" && rule !== "none" && rule !== state;
  const behind = [state, isRule ? rule : ""].filter((word) => word !== "");
  return `${parts.join("")}${behind.length > 0 ? ` (${behind.join(", ")})` : ""}.`;
}

/** The last row of a table at a time; -1 before the first. */
function rowAt(table: Table, t: number): number {
  const times = table.numbers.time_s;
  return times ? lowerBound(times, t + 1e-12) - 1 : -1;
}
