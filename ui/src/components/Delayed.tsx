import { useEffect, useState } from "react";

/** Shows its children after 200 ms, so that a fast response doesn't flash a skeleton. */
export function Delayed({ children }: { children: React.ReactNode }) {
  const [due, setDue] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setDue(true), 200);
    return () => clearTimeout(timer);
  }, []);
  return due ? children : null;
}
