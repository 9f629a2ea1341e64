import { describe, expect, it } from "vitest";
import { mcpClients } from "./mcpClients";

describe("mcpClients", () => {
  it.each(mcpClients("https://trace.example").map((client) => [client.id, client] as const))(
    "%s has the address and no key",
    (_, client) => {
      expect(client.code).toContain("https://trace.example");
      expect(client.code.replaceAll("lt_YOUR_KEY", "")).not.toMatch(/lt_\w/);
      if (client.location.endsWith(".json")) expect(() => JSON.parse(client.code)).not.toThrow();
    },
  );
});
