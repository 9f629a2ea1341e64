import "./mantine.css";
import "./theme.css";
import { MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { RouterProvider } from "react-router";
import { createQueryClient } from "@/api/queryClient";
import { keys } from "@/api/queryKeys";
import { watchSession } from "@/api/session";
import { watchLostFiles } from "./lostFiles";
import { router } from "./router";
import { theme } from "./theme";

const root = document.getElementById("root");
if (!root) throw new Error("the page has no #root");

const queryClient = createQueryClient();
watchLostFiles();
watchSession(() => void queryClient.invalidateQueries({ queryKey: keys.session.me }));
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <MantineProvider theme={theme} defaultColorScheme="auto">
        <RouterProvider router={router} />
      </MantineProvider>
    </QueryClientProvider>
  </StrictMode>,
);
