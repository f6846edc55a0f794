export const [VENDOR_PORT, ENDING_PORT] = [8080, 9090] as const;
/** Also of the vendor. The census lists an address once, so each test that looks for one needs a port of its own. */
export const OWN_PORTS = [8081, 8082, 8083, 8084, 8085] as const;
/** The model that the agent calls only past its lane. */
export const PAST_MODEL = 'llama-3.3-70b-versatile';
export const USAGE = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };
/** A call of a tool in the text of a response. */
export const HIDDEN_CALL = 'CALL delete_all_orders {"sure":true}';
