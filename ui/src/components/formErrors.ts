import { ApiError } from "@/api/problem";

/** Why a form can't be sent, by the location that the API has for it: "body.a.provider_id". */
export type FormErrors = Record<string, string>;

/** The errors at a location and below it, without those of `except`. */
export function errorsBelow(errors: FormErrors, at: string, except: readonly string[] = []): string[] {
  const isBelow = (location: string, of: string) =>
    location === of || location.startsWith(`${of}.`) || location.startsWith(`${of}[`);
  return Object.entries(errors)
    .filter(([location]) => isBelow(location, at) && !except.some((other) => isBelow(location, other)))
    .map(([location, message]) => {
      const rest = location.slice(at.length).replace(/^\./, "");
      return rest === "" ? message : `${rest}: ${message}`;
    });
}

/** What a request was refused for, at its fields. */
export function errorsOf(error: Error | null): FormErrors {
  const list = error instanceof ApiError ? (error.problem?.errors ?? []) : [];
  return Object.fromEntries(list.map(({ location, message }) => [location, message]));
}

/** How messages about what is still empty or unchanged begin. */
const MISSING = /^(Add|Choose|Enter|Fill in|Name|The prompt|This is the recorded|Write) /;

/** What is wrong with what was typed is said at once; what is still empty or unchanged isn't. */
export function shownEarly(errors: FormErrors): FormErrors {
  return Object.fromEntries(Object.entries(errors).filter(([, message]) => !MISSING.test(message)));
}

/** Why what was typed isn't a number from 0 on; undefined if it is, or the field is empty. */
export function numberMistake(text: string | number, isWhole = false): string | undefined {
  if (String(text).trim() === "") return undefined;
  const value = Number(text);
  if (!Number.isFinite(value)) return "must be a number";
  if (value < 0) return "must not be negative";
  return isWhole && !Number.isInteger(value) ? "must be a whole number" : undefined;
}

/** Reads the number in a text; undefined if it is empty, or invalid, which `errors` says. */
export function readNumber(
  errors: FormErrors,
  at: string,
  text: string,
  isValid: (value: number) => boolean,
  message: string,
): number | undefined {
  if (text.trim() === "") return undefined;
  const value = Number(text);
  if (Number.isFinite(value) && isValid(value)) return value;
  errors[at] = message;
  return undefined;
}
