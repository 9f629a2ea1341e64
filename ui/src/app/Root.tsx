import { Outlet } from "react-router";
import { OutageBanner } from "./OutageBanner";
import classes from "./Root.module.css";

/** Everything: what is wrong with the connection, above the page. */
export function Root() {
  return (
    <div className={classes.root}>
      <OutageBanner />
      <div className={classes.rest}>
        <Outlet />
      </div>
    </div>
  );
}
