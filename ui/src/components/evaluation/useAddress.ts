import { useSearchParams } from "react-router";

/** Changes of the parameters of an address; null takes one away. */
export type AddressChanges = Record<string, string | null>;

/** The parameters of the address, and what changes them: with a new entry in the history, or in place of the last one. */
export function useAddress() {
  const [params, setParams] = useSearchParams();
  const set = (changes: AddressChanges, replace = false) =>
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
  return { params, set };
}
