import { describe, expect, it } from "vitest";
import { nameWidth } from "./nameWidth";
import { readOutline } from "./outline";
import { outlineOf, type Row } from "./outlineOf";

const widthOf = (rows: Row[]) => nameWidth(readOutline(outlineOf(rows)));
const named = (id: string, parent: number, name: string): Row => [id, parent, "ok", 0, 1, name];

describe("nameWidth", () => {
  it("grows with the names", () =>
    expect(widthOf([named("a", -1, "n".repeat(40))]) - widthOf([named("a", -1, "n".repeat(30))])).toBe(69));
  it("has room for the level", () =>
    expect(widthOf([named("a", -1, "n"), named("b", 0, "name")])).toBeGreaterThan(
      widthOf([named("a", -1, "name")]),
    ));
  it("is bounded", () => expect(widthOf([named("a", -1, "n".repeat(5000))])).toBeLessThan(700));
  it("leaves a few long names out", () => {
    const rows = Array.from(
      { length: 100 },
      (_, i): Row => named(`${i}`, -1, i < 3 ? "n".repeat(70) : "short"),
    );
    expect(widthOf(rows)).toBeLessThan(150);
  });
  it("takes any number of spans", () => expect(widthOf([])).toBe(0));
});
