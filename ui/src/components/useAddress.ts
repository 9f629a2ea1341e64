import { useSearchParams } from "react-router";

/**
 * The parameters of the address, and what changes them. `set` adds an entry to the history, or replaces the last one; null or an empty
 * text takes a parameter away. `clear` takes all.
 */
export function useAddress() {
  const [params, setParams] = useSearchParams();
  const set = (changes: Record<string, string | null>, replace = false) =>
    setParams(
      (current) => {
        for (const [name, value] of Object.entries(changes)) {
          if (value) current.set(name, value);
          else current.delete(name);
        }
        return current;
      },
      { replace },
    );
  return { params, set, clear: () => setParams({}) };
}
