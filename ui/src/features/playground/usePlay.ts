import { useEffect, useRef, useState } from "react";
import { emptyPlay, type Play } from "./play";
import { readPlay, writePlay } from "./storedPlay";

/** How long a pause in typing is before the browser keeps the draft. */
const KEEP_MS = 400;

/** The playground, which this browser keeps. */
export function usePlay(key: string) {
  const [play, setPlay] = useState<Play>(() => readPlay(key) ?? emptyPlay());
  const [isKept, setKept] = useState(true);
  const latest = useRef(play);
  const isPending = useRef(false);
  const isFirst = useRef(true);
  useEffect(() => {
    latest.current = play;
    if (isFirst.current) {
      isFirst.current = false;
      return;
    }
    isPending.current = true;
    const timer = setTimeout(() => {
      isPending.current = false;
      setKept(writePlay(key, play));
    }, KEEP_MS);
    return () => clearTimeout(timer);
  }, [key, play]);
  useEffect(() => {
    const leave = () => {
      if (isPending.current) writePlay(key, latest.current);
    };
    window.addEventListener("pagehide", leave);
    return () => {
      window.removeEventListener("pagehide", leave);
      leave();
    };
  }, [key]);
  return { play, setPlay, isKept };
}
