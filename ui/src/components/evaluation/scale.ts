import type { JudgeRead, JudgeScale } from "@/api/types";

/** A scale in words: "whole numbers from 1 to 5". */
export function scaleText(scale: JudgeScale | null): string {
  if (scale === null) return "";
  const { type, min, max, labels } = scale;
  if (type === "binary") return "Pass or fail";
  if (type === "categorical") return `One of ${(labels ?? []).join(", ")}`;
  if (labels) return `From ${labels[0]} to ${labels.at(-1)}: ${labels.join(", ")}`;
  return `${type === "ordinal" ? "Whole numbers" : "Numbers"} from ${min} to ${max}`;
}

/** What passes, in words. */
export function passText(scale: JudgeScale | null, pass: JudgeRead["pass"]): string {
  if (pass === null || pass === undefined)
    return scale?.type === "binary" ? "Pass" : "Nothing passes or fails";
  return Array.isArray(pass) ? pass.join(", ") : `From ${pass}`;
}
