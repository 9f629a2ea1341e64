import { useEffect, useState } from "react";

/** Shows its children after 200 ms, so that what is fast does not flash. */
export function Delayed({ children }: { children: React.ReactNode }) {
  const [due, setDue] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setDue(true), 200);
    return () => clearTimeout(timer);
  }, []);
  return due ? children : null;
}
