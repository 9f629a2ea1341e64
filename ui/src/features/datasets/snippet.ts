/** The request that writes items into a dataset. */
export function writeSnippet(origin: string, datasetId: string): string {
  const body = {
    mode: "upsert",
    items: [
      {
        key: "capital-fr",
        input: { question: "What is the capital of France?" },
        reference_output: "Paris",
        split: "test",
      },
    ],
  };
  return `curl ${origin}/v1/datasets/${datasetId}/items \\
  -H "Authorization: Bearer $LOOPTRACE_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '${JSON.stringify(body, null, 2)}'`;
}
