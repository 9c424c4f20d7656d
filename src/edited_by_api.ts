/**
 * Requests whose messages are not what the model is shown: the API takes results out of them by itself. Pure.
 *
 * @module
 */

/**
 * Whether a request, or what a provider is told beside it, asks the API to clear, compact or cut the conversation: as Anthropic's
 * `context_management` and OpenAI's `truncation` do. To clear thinking takes no result away.
 */
export function isEditedByApi(request: unknown): boolean {
  const given: Record<string, unknown> = Object(request), { truncation } = given;
  const management = given["context_management"] ?? given["contextManagement"];
  const edits: unknown = Object(management).edits ?? management;
  const isEdit = (edit: unknown): boolean => !String(Object(edit).type).startsWith("clear_thinking");
  return (Array.isArray(edits) ? edits.some(isEdit) : Boolean(edits)) ||
    (truncation !== undefined && truncation !== null && truncation !== "disabled");
}
