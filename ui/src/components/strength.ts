/** The minimum password length of the API. */
export const MIN_LENGTH = 12;

export interface Strength {
  /** 0 (too short) to 3 (strong). */
  score: 0 | 1 | 2 | 3;
  hint: string;
}

/** A hint, not a rule. Length counts most; repetition and common words count against. */
export function passwordStrength(password: string, email: string): Strength {
  const missing = MIN_LENGTH - [...password].length;
  if (missing > 0) {
    return { score: 0, hint: missing === 1 ? "1 more character" : `${missing} more characters` };
  }
  const name = email.split("@")[0]?.toLowerCase() ?? "";
  const lower = password.toLowerCase();
  const different = new Set(lower).size;
  const obvious =
    different < 6 ||
    (name.length > 3 && lower.includes(name)) ||
    /(password|12345|qwerty|letmein)/.test(lower);
  if (obvious) return { score: 1, hint: "Easy to guess: use several unrelated words" };
  const kinds = [/[a-z]/, /[A-Z]/, /\d/, /[^A-Za-z0-9]/].filter((kind) => kind.test(password)).length;
  if (password.length >= 16 || kinds >= 3) return { score: 3, hint: "Strong" };
  return { score: 2, hint: "Good; longer is stronger" };
}
