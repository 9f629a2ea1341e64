import { Button } from "@mantine/core";
import { useState } from "react";
import { useNavigate } from "react-router";
import { useDeleteContainer } from "@/api/organizations";
import type { ProjectAccess } from "@/api/types";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { isAtLeast } from "@/components/roles";
import classes from "./SampleBanner.module.css";

/** Says that a project has sample data, and removes the project. */
export function SampleBanner({ project }: { project: ProjectAccess }) {
  const [removing, setRemoving] = useState(false);
  return (
    <section className={classes.banner} aria-label="Sample data">
      <span className={classes.text}>Sample data: these runs aren't from your programs.</span>
      {isAtLeast(project.role, "admin") && (
        <Button variant="default" size="compact-sm" onClick={() => setRemoving(true)}>
          Remove…
        </Button>
      )}
      {removing && <RemoveDialog project={project} onClose={() => setRemoving(false)} />}
    </section>
  );
}

function RemoveDialog({ project, onClose }: { project: ProjectAccess; onClose: () => void }) {
  const remove = useDeleteContainer("project", project.id);
  const navigate = useNavigate();
  const confirm = async () => {
    // mutateAsync waits for the list of projects, so that the next page does not open a deleted one.
    const isRemoved = await remove.mutateAsync(project.name).then(
      () => true,
      () => false,
    );
    if (isRemoved) navigate("/", { replace: true });
  };
  return (
    <ConfirmDialog
      title="Remove the sample data?"
      action="Remove sample data"
      mutation={remove}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      This deletes the project “{project.name}” with everything in it, including what you added. You can load
      new sample data later.
    </ConfirmDialog>
  );
}
