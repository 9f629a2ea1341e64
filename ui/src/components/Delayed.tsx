import { useEffect, useState } from "react";

interface Props {
  /** How late, in ms. */
  by?: number;
  children: React.ReactNode;
}

/** Shows its children after 200 ms or another time, so that a fast response doesn't flash a skeleton. */
export function Delayed({ by = 200, children }: Props) {
  const [due, setDue] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setDue(true), by);
    return () => clearTimeout(timer);
  }, [by]);
  return due ? children : null;
}
