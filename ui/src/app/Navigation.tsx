import {
  IconAlertTriangle,
  IconChartHistogram,
  IconKey,
  IconListDetails,
  IconMessages,
  IconPlugConnected,
  IconSend,
  IconSettings,
} from "@tabler/icons-react";
import { NavLink } from "react-router";
import classes from "./Navigation.module.css";

/** The pages, in the order in which they stand. */
export const entries = [
  { to: "runs", label: "Runs", Icon: IconListDetails },
  { to: "failures", label: "Failures", Icon: IconAlertTriangle },
  { to: "threads", label: "Threads", Icon: IconMessages },
  { to: "dashboards", label: "Dashboards", Icon: IconChartHistogram },
  { to: "keys", label: "Keys", Icon: IconKey },
  { to: "start", label: "Send a run", Icon: IconSend },
  { to: "connect", label: "Connect", Icon: IconPlugConnected },
  { to: "settings", label: "Settings", Icon: IconSettings },
];

interface Props {
  projectId: string;
  onNavigate?: () => void;
}

/** The pages of a project. */
export function Navigation({ projectId, onNavigate }: Props) {
  return (
    <nav aria-label="Project" className={classes.nav}>
      {entries.map(({ to, label, Icon }) => (
        <NavLink
          key={to}
          to={`/p/${projectId}/${to}`}
          className={classes.link}
          onClick={onNavigate}
          title={label}
        >
          <Icon size={16} stroke={1.6} aria-hidden="true" />
          <span className={classes.label}>{label}</span>
        </NavLink>
      ))}
    </nav>
  );
}
