import { expect, test } from "vitest";
import { csv, fileName } from "../src/workbench/files";

test("a table becomes CSV with empty cells for missing values and quoted words", () => {
  const table = {
    name: "flows/a",
    rows: 2,
    numbers: { time_s: Float64Array.from([0, 0.1]), cwnd_bytes: Float64Array.from([NaN, 14_000]) },
    words: { limit: { words: ["none", 'a,"b"'], codes: Uint32Array.from([0, 1]) } },
  };
  expect(csv(table)).toBe('time_s,cwnd_bytes,limit\r\n0,,none\r\n0.1,14000,"a,""b"""\r\n');
});

test("a hostile title is no path", () => {
  expect(fileName("../../etc/passwd")).toBe("..-..-etc-passwd".replace(/^-+/, ""));
  expect(fileName("<script>")).toBe("script");
  expect(fileName("///")).toBe("weir");
});
