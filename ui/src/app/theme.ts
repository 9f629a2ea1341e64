import { createTheme, type MantineColorsTuple } from "@mantine/core";

// The accent color.
const iris: MantineColorsTuple = [
  "#eef0ff",
  "#dde0fb",
  "#b9bff4",
  "#969eee",
  "#7a83e8",
  "#666fe4",
  "#5059d6",
  "#434bbd",
  "#3a41a0",
  "#2d337d",
];

// The grays of the dark scheme: text, dimmed, …, borders, inputs, page.
const dark: MantineColorsTuple = [
  "#e3e4e9",
  "#b9bbc6",
  "#9fa2b0",
  "#6d7080",
  "#33353f",
  "#2a2c35",
  "#1c1d24",
  "#131419",
  "#0f1014",
  "#0b0c0f",
];

// The header of a dialog is not one of the page.
const attributes = { header: { role: "presentation" } };

export const theme = createTheme({
  primaryColor: "iris",
  primaryShade: { light: 6, dark: 6 },
  colors: { iris, dark },
  fontFamily: "'Inter Variable', system-ui, sans-serif",
  fontFamilyMonospace: "'JetBrains Mono Variable', ui-monospace, monospace",
  fontSizes: { xs: "12px", sm: "13px", md: "14px", lg: "16px", xl: "20px" },
  spacing: { xs: "8px", sm: "12px", md: "16px", lg: "24px", xl: "32px" },
  radius: { xs: "3px", sm: "5px", md: "7px", lg: "10px", xl: "16px" },
  defaultRadius: "sm",
  headings: { fontWeight: "620" },
  cursorType: "pointer",
  respectReducedMotion: true,
  components: {
    Button: { defaultProps: { size: "xs" } },
    TextInput: { defaultProps: { size: "sm" } },
    Tooltip: { defaultProps: { openDelay: 400, fz: "xs", withinPortal: true } },
    // The first item takes the focus. Where it can be disabled, it is a FirstItem.
    Menu: {
      defaultProps: { shadow: "md", transitionProps: { duration: 80 }, withInitialFocusPlaceholder: false },
    },
    Modal: {
      defaultProps: {
        transitionProps: { duration: 100 },
        centered: true,
        attributes,
        closeButtonProps: { "aria-label": "Close" },
      },
    },
    Drawer: { defaultProps: { attributes, closeButtonProps: { "aria-label": "Close" } } },
  },
});
