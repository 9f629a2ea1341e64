import { useState } from "react";

interface Props {
  summary: string;
  className?: string;
  testId?: string;
  startsOpen?: boolean;
  /** Something in it must be seen, such as a mistake. */
  mustOpen?: boolean;
  children: React.ReactNode;
}

/** Something that opens below its summary. It is rendered only while it is open. */
export function Disclosure(props: Props) {
  const { summary, className, testId, startsOpen = false, mustOpen = false, children } = props;
  const [isOpen, setOpen] = useState(startsOpen);
  return (
    <details
      className={className}
      data-testid={testId}
      open={isOpen || mustOpen}
      onToggle={(event) => {
        // A disclosure inside this one toggles, too.
        if (event.target === event.currentTarget) setOpen(event.currentTarget.open);
      }}
    >
      <summary>{summary}</summary>
      {(isOpen || mustOpen) && children}
    </details>
  );
}
