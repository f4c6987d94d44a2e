import { isJsonObject, type JsonObject } from '../protocol/json.ts';
import { UsageError } from './failure.ts';

/** The arguments of a tool as they are typed. @throws UsageError for what is no JSON object */
export function toInput(text = '{}'): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // answered below, as for JSON that is no object
  }
  if (isJsonObject(value)) return value;
  throw new UsageError('the input of a tool is a JSON object, for example \'{"path": "src"}\'');
}
