// Shared by the scenarios of the playground: its columns, messages and dialogs.
import { sessionHeaders } from "./scenario.mjs";

/** What the playground on a page has. Columns and messages are counted from 1. */
export function playgroundOf(page) {
  const columns = page.getByTestId("column");
  const column = (number) => columns.nth(number - 1);
  const model = (number) => page.getByRole("combobox", { name: `Model of column ${number}` });
  return {
    dialog: page.getByRole("dialog"),
    columns,
    column,
    answer: (number) => column(number).getByTestId("answer"),
    state: (number) => column(number).getAttribute("data-status"),
    message: (number, role) => page.getByRole("textbox", { name: `Message ${number}, ${role}` }),
    variable: (name) => page.getByLabel(name, { exact: true }),
    model,
    choose: async (number, name) => {
      await model(number).fill(name);
      await model(number).press("Escape");
      await model(number).blur();
    },
    run: (number) => page.getByRole("button", { name: `Run column ${number}` }).click(),
    action: async (number, name) => {
      await page.getByRole("button", { name: `Actions for column ${number}` }).click();
      await page.getByRole("menuitem", { name }).click();
    },
    choosePrompt: async (label, search, name) => {
      await page.getByRole("combobox", { name: label, exact: true }).fill(search);
      await page.getByRole("option", { name, exact: true }).click();
    },
    chooseDataset: async (name) => {
      await page.getByRole("dialog").getByRole("textbox", { name: "Dataset" }).fill(name);
      await page.getByRole("option", { name: new RegExp(`^${name}`) }).click();
    },
    addTool: async (name) => {
      const dialog = page.getByRole("dialog");
      await page.getByRole("button", { name: "Tool", exact: true }).click();
      await dialog.getByLabel("Name").fill(name);
      await dialog.getByRole("button", { name: "Add tool" }).click();
      await dialog.waitFor({ state: "detached" });
    },
    answerTool: async (name, content) => {
      await page.getByRole("combobox", { name: `When the model calls ${name}` }).click();
      await page.getByRole("option", { name: "Always answer the same" }).click();
      await page.getByLabel(`Answer of ${name}`).fill(content);
    },
  };
}

/** The JSON that the API answers to GET. */
export async function read(page, path) {
  const headers = await sessionHeaders(page);
  return page.evaluate(async ([address, headers]) => (await fetch(address, { headers })).json(), [path, headers]);
}
