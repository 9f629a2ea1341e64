import { useState } from "react";

interface Props {
  summary: string;
  className?: string;
  testId?: string;
  children: React.ReactNode;
}

/** Something that opens below its summary. It is rendered only while it is open. */
export function Disclosure({ summary, className, testId, children }: Props) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details
      className={className}
      data-testid={testId}
      onToggle={(event) => {
        // A disclosure inside this one toggles, too.
        if (event.target === event.currentTarget) setOpen(event.currentTarget.open);
      }}
    >
      <summary>{summary}</summary>
      {isOpen && children}
    </details>
  );
}
