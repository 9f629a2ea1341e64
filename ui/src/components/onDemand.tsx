import { Button } from "@mantine/core";
import { type ComponentType, createContext, lazy, Suspense, useContext, useState } from "react";
import classes from "./onDemand.module.css";

/** A component that is loaded when it first appears, such as a dialog. If it can't be loaded, the rest of the page stays. */
export function onDemand<Props extends object>(load: () => Promise<ComponentType<Props>>) {
  const begin = () => ({
    Loaded: lazy(async () => {
      try {
        return { default: await load() };
      } catch {
        return { default: Lost };
      }
    }),
  });
  let shared = begin();
  return function OnDemand(props: Props) {
    const [{ Loaded }, setAttempt] = useState(shared);
    const retry = () => {
      shared = begin();
      setAttempt(shared);
    };
    return (
      <Retry value={retry}>
        <Suspense>
          <Loaded {...props} />
        </Suspense>
      </Retry>
    );
  };
}

const Retry = createContext(() => {});

function Lost() {
  const retry = useContext(Retry);
  return (
    <div className={classes.lost} role="alert" data-testid="lost-part">
      <span>
        A part of the page couldn't be loaded. If this keeps happening, save what you typed and reload the
        page.
      </span>
      <Button variant="default" size="compact-sm" onClick={retry}>
        Try again
      </Button>
    </div>
  );
}
