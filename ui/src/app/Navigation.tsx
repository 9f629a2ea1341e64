import { Link, useLocation } from "react-router";
import { sharedParams } from "@/components/filters/filters";
import classes from "./Navigation.module.css";
import { pageGroups, pageOf } from "./pages";

interface Props {
  projectId: string;
  onNavigate?: () => void;
}

/** The pages of a project, in groups. A group whose first page has its name needs no heading. */
export function Navigation({ projectId, onNavigate }: Props) {
  const { pathname, search } = useLocation();
  const current = pageOf(pathname);
  const shared = current?.isFiltered ? sharedParams(new URLSearchParams(search)).toString() : "";
  return (
    <nav aria-label="Project" className={classes.nav}>
      {pageGroups.map(({ label: group, pages }) => (
        <ul key={group} aria-label={group} className={classes.group}>
          {pages[0]?.label !== group && (
            <li className={classes.heading} aria-hidden="true">
              {group}
            </li>
          )}
          {pages.map((page) => (
            <li key={page.path}>
              <Link
                to={{
                  pathname: `/p/${projectId}/${page.path}`,
                  // The current page's own link resets its filters.
                  search: page.isFiltered && page !== current ? shared : "",
                }}
                className={classes.link}
                aria-current={page === current ? "page" : undefined}
                onClick={onNavigate}
                title={page.label}
              >
                <page.Icon size={16} stroke={1.6} aria-hidden="true" />
                <span className={classes.label}>{page.label}</span>
              </Link>
            </li>
          ))}
        </ul>
      ))}
    </nav>
  );
}
