import { Button, Text } from "@mantine/core";
import { useEffect, useState } from "react";
import classes from "./SpanDetail.module.css";

interface Props {
  base64: string;
  mime: string;
  label: string;
}

/** An image from recorded bytes. A click decodes it in a worker and shows it. */
export function OnDemandImage({ base64, mime, label }: Props) {
  const [isWanted, setWanted] = useState(false);
  const [source, setSource] = useState<string>();
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    if (!isWanted) return;
    let address: string | undefined;
    const worker = new Worker(new URL("./image.worker.ts", import.meta.url), { type: "module" });
    worker.onmessage = (event: MessageEvent<Blob | null>) => {
      worker.terminate();
      if (!event.data) return setFailed(true);
      address = URL.createObjectURL(event.data);
      setSource(address);
    };
    worker.onerror = () => setFailed(true);
    worker.postMessage({ base64, mime });
    return () => {
      worker.terminate();
      if (address) URL.revokeObjectURL(address);
    };
  }, [isWanted, base64, mime]);

  if (failed) return <Text size="sm">Not an image: {label}</Text>;
  if (source) {
    return (
      <img
        className={classes.image}
        src={source}
        alt={`Recorded part, ${label}`}
        decoding="async"
        onError={() => setFailed(true)}
      />
    );
  }
  return (
    <div>
      <Button size="compact-sm" variant="default" loading={isWanted} onClick={() => setWanted(true)}>
        Show image ({label})
      </Button>
    </div>
  );
}
