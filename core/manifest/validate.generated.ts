// @ts-nocheck
// Made by scripts/generate.ts from core/manifest/schema.ts. Do not edit.
const schema31 = {"type":"object","properties":{"apiVersion":{"type":"string","const":"platform.io/v1"},"kind":{"type":"string","const":"PlatformAgent"},"metadata":{"type":"object","properties":{"name":{"type":"string","pattern":"^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$"},"version":{"type":"string","if":{"pattern":"^\\$(env|file|secret|func):"},"else":{"pattern":"^(?:0|[1-9]\\d*)\\.(?:0|[1-9]\\d*)\\.(?:0|[1-9]\\d*)(?:-(?:0|[1-9]\\d*|\\d*[A-Za-z-][0-9A-Za-z-]*)(?:\\.(?:0|[1-9]\\d*|\\d*[A-Za-z-][0-9A-Za-z-]*))*)?(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?$"}},"description":{"type":"string"},"tags":{"type":"array","items":{"type":"string"}},"author":{"type":"string"},"license":{"type":"string"}},"required":["name","version","description"],"patternProperties":{"^x-":true},"additionalProperties":false},"spec":{"type":"object","properties":{"model":{"type":"object","properties":{"provider":{"type":"string","minLength":1},"id":{"type":"string","minLength":1},"apiKey":{"type":"string","minLength":1},"parameters":{"type":"object","properties":{"temperature":{"type":"number","minimum":0,"maximum":2},"maxTokens":{"type":"integer","minimum":1},"topP":{"type":"number","minimum":0,"maximum":1},"frequencyPenalty":{"type":"number"},"presencePenalty":{"type":"number"}},"patternProperties":{"^x-":true},"additionalProperties":false},"fallback":{"type":"object","properties":{"provider":{"type":"string","minLength":1},"id":{"type":"string","minLength":1},"apiKey":{"type":"string","minLength":1},"triggerOn":{"type":"array","items":{"type":"string","enum":["rate_limit","timeout","error_5xx","error_4xx"]}},"maxRetries":{"type":"integer","minimum":0,"maximum":10}},"required":["provider","id","apiKey"],"patternProperties":{"^x-":true},"additionalProperties":false},"costControls":{"type":"object","properties":{"maxMonthlyUSD":{"type":"number","minimum":0},"alertAtUSD":{"type":"number","minimum":0},"maxTokensPerDay":{"type":"integer","minimum":1},"usdPerMillionTokens":{"type":"object","properties":{"input":{"type":"number","minimum":0},"output":{"type":"number","minimum":0}},"patternProperties":{"^x-":true},"additionalProperties":false}},"patternProperties":{"^x-":true},"additionalProperties":false}},"required":["provider","id","apiKey"],"patternProperties":{"^x-":true},"additionalProperties":false},"prompts":{"type":"object","properties":{"system":{"type":"string"},"fallback":{"type":"string"},"hotReload":{"type":"boolean"},"variables":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string","minLength":1},"value":{"type":"string"}},"required":["name","value"],"patternProperties":{"^x-":true},"additionalProperties":false}}},"patternProperties":{"^x-":true},"additionalProperties":false},"tools":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string","minLength":1},"type":{"type":"string","enum":["function","mcp","builtin"]},"description":{"type":"string"},"module":{"type":"string"},"function":{"type":"string"},"annotations":{"type":"object","properties":{"readOnlyHint":{"type":"boolean"},"destructiveHint":{"type":"boolean"},"idempotentHint":{"type":"boolean"},"openWorldHint":{"type":"boolean"}},"patternProperties":{"^x-":true},"additionalProperties":false}},"required":["name"],"patternProperties":{"^x-":true},"additionalProperties":false}},"mcp":{"type":"object","properties":{"servers":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string","minLength":1},"transport":{"type":"string","enum":["stdio","sse","http"]},"host":{"type":"string","minLength":1},"port":{"type":"integer","minimum":1,"maximum":65535},"url":{"type":"string","if":{"pattern":"^\\$(env|file|secret|func):"},"else":{"pattern":"^https?://[^\\s/?#]+[^\\s]*$"}},"command":{"type":"string","minLength":1},"args":{"type":"array","items":{"type":"string"}},"env":{"type":"object","additionalProperties":{"type":"string"}},"healthCheck":{"type":"object","properties":{"timeoutSeconds":{"type":"integer","minimum":1,"maximum":60}},"patternProperties":{"^x-":true},"additionalProperties":false}},"required":["name"],"patternProperties":{"^x-":true},"additionalProperties":false,"if":{"properties":{"transport":{"const":"stdio"}},"required":["transport"]},"then":{"anyOf":[{"required":["command"]}]},"else":{"if":{"properties":{"transport":{"enum":["sse","http"]}},"required":["transport"]},"then":{"anyOf":[{"required":["url"]},{"required":["host","port"]}]},"else":{"anyOf":[{"required":["url"]},{"required":["host","port"]},{"required":["command"]}]}}}}},"patternProperties":{"^x-":true},"additionalProperties":false},"memory":{"type":"object","properties":{"backend":{"type":"string"},"shortTerm":{"type":"object","properties":{"backend":{"type":"string"},"maxTurns":{"type":"integer","minimum":1},"maxTokens":{"type":"integer","minimum":1},"ttlSeconds":{"type":"integer","minimum":0},"connection":{"type":"string"}},"patternProperties":{"^x-":true},"additionalProperties":false},"longTerm":{"type":"object","properties":{"backend":{"type":"string","minLength":1},"connectionString":{"type":"string"},"table":{"type":"string"},"ttlDays":{"type":"integer","minimum":0}},"required":["backend"],"patternProperties":{"^x-":true},"additionalProperties":false},"vector":{"type":"object","properties":{"backend":{"type":"string","minLength":1},"connectionString":{"type":"string"},"apiKey":{"type":"string","minLength":1},"dimension":{"type":"integer","minimum":1},"topK":{"type":"integer","minimum":1},"namespace":{"type":"string"}},"required":["backend"],"patternProperties":{"^x-":true},"additionalProperties":false},"hygiene":{"type":"object","properties":{"piiScrubFields":{"type":"array","items":{"type":"string"}},"auditLog":{"type":"boolean"},"retentionPolicy":{"type":"string"}},"patternProperties":{"^x-":true},"additionalProperties":false}},"patternProperties":{"^x-":true},"additionalProperties":false},"requires":{"type":"object","properties":{"envVars":{"type":"array","items":{"type":"string","pattern":"^[A-Za-z_][A-Za-z0-9_]*$"}},"services":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string","minLength":1},"type":{"type":"string","minLength":1},"address":{"type":"string","if":{"pattern":"^\\$(env|file|secret|func):"},"else":{"pattern":"^(?:[A-Za-z][A-Za-z0-9+.-]*://[^\\s]+|(?:\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?):(?:[1-9]\\d{0,3}|[1-5]\\d{4}|6[0-4]\\d{3}|65[0-4]\\d{2}|655[0-2]\\d|6553[0-5]))$"}},"critical":{"type":"boolean"}},"patternProperties":{"^x-":true},"additionalProperties":false,"anyOf":[{"required":["name"]},{"required":["type"]}]}},"minimumMemoryMB":{"type":"integer","minimum":1},"nodeVersion":{"type":"string"},"pythonVersion":{"type":"string"}},"patternProperties":{"^x-":true},"additionalProperties":false},"guardrails":{"type":"object","properties":{"input":{"type":"array","items":{"type":"object","properties":{"type":{"type":"string","enum":["topic-filter","pii-detector","prompt-injection","hallucination-detector","toxicity-filter","custom"]},"action":{"type":"string"},"threshold":{"type":"number","minimum":0,"maximum":1},"blockedTopics":{"type":"array","items":{"type":"string"}},"fields":{"type":"array","items":{"type":"string"}},"sensitivity":{"type":"string"},"module":{"type":"string"},"function":{"type":"string"},"maxRetries":{"type":"integer","minimum":0},"message":{"type":"string"}},"required":["type"],"patternProperties":{"^x-":true},"additionalProperties":false}},"output":{"type":"array","items":{"type":"object","properties":{"type":{"type":"string","enum":["topic-filter","pii-detector","prompt-injection","hallucination-detector","toxicity-filter","custom"]},"action":{"type":"string"},"threshold":{"type":"number","minimum":0,"maximum":1},"blockedTopics":{"type":"array","items":{"type":"string"}},"fields":{"type":"array","items":{"type":"string"}},"sensitivity":{"type":"string"},"module":{"type":"string"},"function":{"type":"string"},"maxRetries":{"type":"integer","minimum":0},"message":{"type":"string"}},"required":["type"],"patternProperties":{"^x-":true},"additionalProperties":false}}},"patternProperties":{"^x-":true},"additionalProperties":false},"evaluation":{"type":"object","properties":{"framework":{"type":"string"},"datasets":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string","minLength":1},"path":{"type":"string","minLength":1},"metrics":{"type":"array","items":{"type":"string"}}},"required":["name","path"],"patternProperties":{"^x-":true},"additionalProperties":false}},"metrics":{"type":"array","items":{"type":"string"}},"thresholds":{"type":"object","additionalProperties":{"type":"number","minimum":0,"maximum":1}},"ciGate":{"type":"boolean"}},"patternProperties":{"^x-":true},"additionalProperties":false},"observability":{"type":"object","properties":{"tracing":{"type":"object","properties":{"backend":{"type":"string","minLength":1},"endpoint":{"type":"string"},"publicKey":{"type":"string"},"secretKey":{"type":"string","minLength":1},"sampleRate":{"type":"number","minimum":0,"maximum":1}},"required":["backend"],"patternProperties":{"^x-":true},"additionalProperties":false},"metrics":{"type":"object","properties":{"backend":{"type":"string","minLength":1},"endpoint":{"type":"string"},"serviceName":{"type":"string"}},"required":["backend"],"patternProperties":{"^x-":true},"additionalProperties":false},"logging":{"type":"object","properties":{"level":{"type":"string"},"structured":{"type":"boolean"},"redactFields":{"type":"array","items":{"type":"string"}}},"patternProperties":{"^x-":true},"additionalProperties":false}},"patternProperties":{"^x-":true},"additionalProperties":false},"compliance":{"type":"object","properties":{"packs":{"type":"array","items":{"type":"string","enum":["owasp-llm-top10","model-resilience","memory-hygiene","evaluation-coverage","observability","metadata-quality"]}},"suppressions":{"type":"array","items":{"type":"object","properties":{"rule":{"type":"string","minLength":1},"reason":{"type":"string","minLength":1},"approvedBy":{"type":"string"},"expires":{"type":"string","if":{"pattern":"^\\$(env|file|secret|func):"},"else":{"pattern":"^\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\\d|3[01])(?:T\\d{2}:\\d{2}(?::\\d{2}(?:\\.\\d+)?)?(?:Z|[+-]\\d{2}:\\d{2}))?$"}}},"required":["rule","reason"],"patternProperties":{"^x-":true},"additionalProperties":false}},"auditSchedule":{"type":"string"}},"patternProperties":{"^x-":true},"additionalProperties":false},"api":{"type":"object","properties":{"type":{"type":"string","enum":["rest","mcp","websocket"]},"port":{"type":"integer","minimum":1,"maximum":65535},"pathPrefix":{"type":"string","if":{"pattern":"^\\$(env|file|secret|func):"},"else":{"pattern":"^/[^\\s]*$"}},"url":{"type":"string","if":{"pattern":"^\\$(env|file|secret|func):"},"else":{"pattern":"^(?:https?|wss?)://[^\\s/?#]+[^\\s]*$"}},"a2a":{"type":"object","properties":{"protocolBinding":{"type":"string","enum":["JSONRPC","HTTP+JSON"]},"path":{"type":"string","if":{"pattern":"^\\$(env|file|secret|func):"},"else":{"pattern":"^/[^\\s]*$"}},"protocolVersion":{"type":"string","enum":["1.0","0.3"]}},"required":["protocolBinding"],"patternProperties":{"^x-":true},"additionalProperties":false},"auth":{"type":"object","properties":{"type":{"type":"string","enum":["jwt","apikey","oauth2","none"]},"jwksUri":{"type":"string","if":{"pattern":"^\\$(env|file|secret|func):"},"else":{"pattern":"^https?://[^\\s/?#]+[^\\s]*$"}},"header":{"type":"string"}},"patternProperties":{"^x-":true},"additionalProperties":false},"rateLimit":{"type":"object","properties":{"requestsPerMinute":{"type":"integer","minimum":1},"requestsPerHour":{"type":"integer","minimum":1}},"patternProperties":{"^x-":true},"additionalProperties":false},"streaming":{"type":"boolean"},"healthEndpoint":{"type":"string","if":{"pattern":"^\\$(env|file|secret|func):"},"else":{"pattern":"^/[^\\s]*$"}},"capabilitiesEndpoint":{"type":"string","if":{"pattern":"^\\$(env|file|secret|func):"},"else":{"pattern":"^/[^\\s]*$"}},"metricsEndpoint":{"type":"string","if":{"pattern":"^\\$(env|file|secret|func):"},"else":{"pattern":"^/[^\\s]*$"}},"corsOrigins":{"type":"array","items":{"type":"string"}},"chatEndpoint":{"type":"object","properties":{"path":{"type":"string","if":{"pattern":"^\\$(env|file|secret|func):"},"else":{"pattern":"^/[^\\s]*$"}},"protocol":{"type":"string","enum":["openai-compatible","custom"]}},"patternProperties":{"^x-":true},"additionalProperties":false}},"patternProperties":{"^x-":true},"additionalProperties":false,"if":{"required":["a2a"]},"then":{"anyOf":[{"required":["url"]}]}},"subagents":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string","minLength":1},"ref":{"type":"object","properties":{"manifest":{"type":"string","minLength":1},"a2a":{"type":"object","properties":{"url":{"type":"string","if":{"pattern":"^\\$(env|file|secret|func):"},"else":{"pattern":"^https?://[^\\s/?#]+[^\\s]*$"}},"auth":{"type":"object","properties":{"type":{"type":"string"},"token":{"type":"string","minLength":1},"header":{"type":"string"}},"patternProperties":{"^x-":true},"additionalProperties":false}},"required":["url"],"patternProperties":{"^x-":true},"additionalProperties":false}},"patternProperties":{"^x-":true},"additionalProperties":false,"oneOf":[{"required":["manifest"]},{"required":["a2a"]}]},"invocation":{"type":"string","enum":["parallel","sequential","on-demand"]},"passContext":{"type":"boolean"},"triggerKeywords":{"type":"array","items":{"type":"string"}}},"required":["name","ref"],"patternProperties":{"^x-":true},"additionalProperties":false}},"skills":{"type":"array","items":{"type":"object","properties":{"id":{"type":"string","minLength":1},"version":{"type":"string"}},"required":["id"],"patternProperties":{"^x-":true},"additionalProperties":false}},"humanInTheLoop":{"type":"object","properties":{"enabled":{"type":"boolean"},"approvalRequired":{"type":"array","items":{"type":"string"}},"timeoutSeconds":{"type":"integer","minimum":1},"timeoutAction":{"type":"string"},"notifyVia":{"type":"array","items":{"type":"string"}},"webhookUrl":{"type":"string","if":{"pattern":"^\\$(env|file|secret|func):"},"else":{"pattern":"^https?://[^\\s/?#]+[^\\s]*$"}}},"patternProperties":{"^x-":true},"additionalProperties":false}},"required":["model"],"patternProperties":{"^x-":true},"additionalProperties":false}},"required":["apiVersion","kind","metadata","spec"],"patternProperties":{"^x-":true},"additionalProperties":false};
const pattern4 = new RegExp("^x-", "u");
const pattern6 = new RegExp("^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$", "u");
const pattern7 = new RegExp("^\\$(env|file|secret|func):", "u");
const pattern8 = new RegExp("^(?:0|[1-9]\\d*)\\.(?:0|[1-9]\\d*)\\.(?:0|[1-9]\\d*)(?:-(?:0|[1-9]\\d*|\\d*[A-Za-z-][0-9A-Za-z-]*)(?:\\.(?:0|[1-9]\\d*|\\d*[A-Za-z-][0-9A-Za-z-]*))*)?(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?$", "u");
const pattern22 = new RegExp("^https?://[^\\s/?#]+[^\\s]*$", "u");
const pattern30 = new RegExp("^[A-Za-z_][A-Za-z0-9_]*$", "u");
const pattern33 = new RegExp("^(?:[A-Za-z][A-Za-z0-9+.-]*://[^\\s]+|(?:\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?):(?:[1-9]\\d{0,3}|[1-5]\\d{4}|6[0-4]\\d{3}|65[0-4]\\d{2}|655[0-2]\\d|6553[0-5]))$", "u");
const pattern46 = new RegExp("^\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\\d|3[01])(?:T\\d{2}:\\d{2}(?::\\d{2}(?:\\.\\d+)?)?(?:Z|[+-]\\d{2}:\\d{2}))?$", "u");
const pattern49 = new RegExp("^/[^\\s]*$", "u");
const pattern51 = new RegExp("^(?:https?|wss?)://[^\\s/?#]+[^\\s]*$", "u");
const func1 = Object.prototype.hasOwnProperty;

function validate20(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate20.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.apiVersion === undefined){
const err0 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "apiVersion"}};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
if(data.kind === undefined){
const err1 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "kind"}};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if(data.metadata === undefined){
const err2 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "metadata"}};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
if(data.spec === undefined){
const err3 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "spec"}};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
for(const key0 in data){
if(!(((((key0 === "apiVersion") || (key0 === "kind")) || (key0 === "metadata")) || (key0 === "spec")) || (pattern4.test(key0)))){
const err4 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0}};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
if(data.apiVersion !== undefined){
let data0 = data.apiVersion;
if(typeof data0 !== "string"){
const err5 = {instancePath:instancePath+"/apiVersion",schemaPath:"#/properties/apiVersion/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
if("platform.io/v1" !== data0){
const err6 = {instancePath:instancePath+"/apiVersion",schemaPath:"#/properties/apiVersion/const",keyword:"const",params:{allowedValue: "platform.io/v1"}};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
if(data.kind !== undefined){
let data1 = data.kind;
if(typeof data1 !== "string"){
const err7 = {instancePath:instancePath+"/kind",schemaPath:"#/properties/kind/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
if("PlatformAgent" !== data1){
const err8 = {instancePath:instancePath+"/kind",schemaPath:"#/properties/kind/const",keyword:"const",params:{allowedValue: "PlatformAgent"}};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
if(data.metadata !== undefined){
let data2 = data.metadata;
if(data2 && typeof data2 == "object" && !Array.isArray(data2)){
if(data2.name === undefined){
const err9 = {instancePath:instancePath+"/metadata",schemaPath:"#/properties/metadata/required",keyword:"required",params:{missingProperty: "name"}};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
if(data2.version === undefined){
const err10 = {instancePath:instancePath+"/metadata",schemaPath:"#/properties/metadata/required",keyword:"required",params:{missingProperty: "version"}};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
if(data2.description === undefined){
const err11 = {instancePath:instancePath+"/metadata",schemaPath:"#/properties/metadata/required",keyword:"required",params:{missingProperty: "description"}};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
for(const key1 in data2){
if(!(((((((key1 === "name") || (key1 === "version")) || (key1 === "description")) || (key1 === "tags")) || (key1 === "author")) || (key1 === "license")) || (pattern4.test(key1)))){
const err12 = {instancePath:instancePath+"/metadata",schemaPath:"#/properties/metadata/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key1}};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
if(data2.name !== undefined){
let data3 = data2.name;
if(typeof data3 === "string"){
if(!pattern6.test(data3)){
const err13 = {instancePath:instancePath+"/metadata/name",schemaPath:"#/properties/metadata/properties/name/pattern",keyword:"pattern",params:{pattern: "^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$"}};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
}
else {
const err14 = {instancePath:instancePath+"/metadata/name",schemaPath:"#/properties/metadata/properties/name/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
}
if(data2.version !== undefined){
let data4 = data2.version;
if(typeof data4 !== "string"){
const err15 = {instancePath:instancePath+"/metadata/version",schemaPath:"#/properties/metadata/properties/version/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
const _errs13 = errors;
let valid2 = true;
const _errs14 = errors;
if(typeof data4 === "string"){
if(!pattern7.test(data4)){
const err16 = {};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
}
var _valid0 = _errs14 === errors;
errors = _errs13;
if(vErrors !== null){
if(_errs13){
vErrors.length = _errs13;
}
else {
vErrors = null;
}
}
if(!_valid0){
const _errs15 = errors;
if(typeof data4 === "string"){
if(!pattern8.test(data4)){
const err17 = {instancePath:instancePath+"/metadata/version",schemaPath:"#/properties/metadata/properties/version/else/pattern",keyword:"pattern",params:{pattern: "^(?:0|[1-9]\\d*)\\.(?:0|[1-9]\\d*)\\.(?:0|[1-9]\\d*)(?:-(?:0|[1-9]\\d*|\\d*[A-Za-z-][0-9A-Za-z-]*)(?:\\.(?:0|[1-9]\\d*|\\d*[A-Za-z-][0-9A-Za-z-]*))*)?(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?$"}};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
}
var _valid0 = _errs15 === errors;
valid2 = _valid0;
}
if(!valid2){
const err18 = {instancePath:instancePath+"/metadata/version",schemaPath:"#/properties/metadata/properties/version/if",keyword:"if",params:{failingKeyword: "else"}};
if(vErrors === null){
vErrors = [err18];
}
else {
vErrors.push(err18);
}
errors++;
}
}
if(data2.description !== undefined){
if(typeof data2.description !== "string"){
const err19 = {instancePath:instancePath+"/metadata/description",schemaPath:"#/properties/metadata/properties/description/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err19];
}
else {
vErrors.push(err19);
}
errors++;
}
}
if(data2.tags !== undefined){
let data6 = data2.tags;
if(Array.isArray(data6)){
const len0 = data6.length;
for(let i0=0; i0<len0; i0++){
if(typeof data6[i0] !== "string"){
const err20 = {instancePath:instancePath+"/metadata/tags/" + i0,schemaPath:"#/properties/metadata/properties/tags/items/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err20];
}
else {
vErrors.push(err20);
}
errors++;
}
}
}
else {
const err21 = {instancePath:instancePath+"/metadata/tags",schemaPath:"#/properties/metadata/properties/tags/type",keyword:"type",params:{type: "array"}};
if(vErrors === null){
vErrors = [err21];
}
else {
vErrors.push(err21);
}
errors++;
}
}
if(data2.author !== undefined){
if(typeof data2.author !== "string"){
const err22 = {instancePath:instancePath+"/metadata/author",schemaPath:"#/properties/metadata/properties/author/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err22];
}
else {
vErrors.push(err22);
}
errors++;
}
}
if(data2.license !== undefined){
if(typeof data2.license !== "string"){
const err23 = {instancePath:instancePath+"/metadata/license",schemaPath:"#/properties/metadata/properties/license/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err23];
}
else {
vErrors.push(err23);
}
errors++;
}
}
}
else {
const err24 = {instancePath:instancePath+"/metadata",schemaPath:"#/properties/metadata/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err24];
}
else {
vErrors.push(err24);
}
errors++;
}
}
if(data.spec !== undefined){
let data10 = data.spec;
if(data10 && typeof data10 == "object" && !Array.isArray(data10)){
if(data10.model === undefined){
const err25 = {instancePath:instancePath+"/spec",schemaPath:"#/properties/spec/required",keyword:"required",params:{missingProperty: "model"}};
if(vErrors === null){
vErrors = [err25];
}
else {
vErrors.push(err25);
}
errors++;
}
for(const key2 in data10){
if(!((func1.call(schema31.properties.spec.properties, key2)) || (pattern4.test(key2)))){
const err26 = {instancePath:instancePath+"/spec",schemaPath:"#/properties/spec/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key2}};
if(vErrors === null){
vErrors = [err26];
}
else {
vErrors.push(err26);
}
errors++;
}
}
if(data10.model !== undefined){
let data11 = data10.model;
if(data11 && typeof data11 == "object" && !Array.isArray(data11)){
if(data11.provider === undefined){
const err27 = {instancePath:instancePath+"/spec/model",schemaPath:"#/properties/spec/properties/model/required",keyword:"required",params:{missingProperty: "provider"}};
if(vErrors === null){
vErrors = [err27];
}
else {
vErrors.push(err27);
}
errors++;
}
if(data11.id === undefined){
const err28 = {instancePath:instancePath+"/spec/model",schemaPath:"#/properties/spec/properties/model/required",keyword:"required",params:{missingProperty: "id"}};
if(vErrors === null){
vErrors = [err28];
}
else {
vErrors.push(err28);
}
errors++;
}
if(data11.apiKey === undefined){
const err29 = {instancePath:instancePath+"/spec/model",schemaPath:"#/properties/spec/properties/model/required",keyword:"required",params:{missingProperty: "apiKey"}};
if(vErrors === null){
vErrors = [err29];
}
else {
vErrors.push(err29);
}
errors++;
}
for(const key3 in data11){
if(!(((((((key3 === "provider") || (key3 === "id")) || (key3 === "apiKey")) || (key3 === "parameters")) || (key3 === "fallback")) || (key3 === "costControls")) || (pattern4.test(key3)))){
const err30 = {instancePath:instancePath+"/spec/model",schemaPath:"#/properties/spec/properties/model/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key3}};
if(vErrors === null){
vErrors = [err30];
}
else {
vErrors.push(err30);
}
errors++;
}
}
if(data11.provider !== undefined){
let data12 = data11.provider;
if(typeof data12 === "string"){
if(data12.length < 1){
const err31 = {instancePath:instancePath+"/spec/model/provider",schemaPath:"#/properties/spec/properties/model/properties/provider/minLength",keyword:"minLength",params:{limit: 1}};
if(vErrors === null){
vErrors = [err31];
}
else {
vErrors.push(err31);
}
errors++;
}
}
else {
const err32 = {instancePath:instancePath+"/spec/model/provider",schemaPath:"#/properties/spec/properties/model/properties/provider/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err32];
}
else {
vErrors.push(err32);
}
errors++;
}
}
if(data11.id !== undefined){
let data13 = data11.id;
if(typeof data13 === "string"){
if(data13.length < 1){
const err33 = {instancePath:instancePath+"/spec/model/id",schemaPath:"#/properties/spec/properties/model/properties/id/minLength",keyword:"minLength",params:{limit: 1}};
if(vErrors === null){
vErrors = [err33];
}
else {
vErrors.push(err33);
}
errors++;
}
}
else {
const err34 = {instancePath:instancePath+"/spec/model/id",schemaPath:"#/properties/spec/properties/model/properties/id/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err34];
}
else {
vErrors.push(err34);
}
errors++;
}
}
if(data11.apiKey !== undefined){
let data14 = data11.apiKey;
if(typeof data14 === "string"){
if(data14.length < 1){
const err35 = {instancePath:instancePath+"/spec/model/apiKey",schemaPath:"#/properties/spec/properties/model/properties/apiKey/minLength",keyword:"minLength",params:{limit: 1}};
if(vErrors === null){
vErrors = [err35];
}
else {
vErrors.push(err35);
}
errors++;
}
}
else {
const err36 = {instancePath:instancePath+"/spec/model/apiKey",schemaPath:"#/properties/spec/properties/model/properties/apiKey/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err36];
}
else {
vErrors.push(err36);
}
errors++;
}
}
if(data11.parameters !== undefined){
let data15 = data11.parameters;
if(data15 && typeof data15 == "object" && !Array.isArray(data15)){
for(const key4 in data15){
if(!((((((key4 === "temperature") || (key4 === "maxTokens")) || (key4 === "topP")) || (key4 === "frequencyPenalty")) || (key4 === "presencePenalty")) || (pattern4.test(key4)))){
const err37 = {instancePath:instancePath+"/spec/model/parameters",schemaPath:"#/properties/spec/properties/model/properties/parameters/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key4}};
if(vErrors === null){
vErrors = [err37];
}
else {
vErrors.push(err37);
}
errors++;
}
}
if(data15.temperature !== undefined){
let data16 = data15.temperature;
if((typeof data16 == "number") && (isFinite(data16))){
if(data16 > 2 || isNaN(data16)){
const err38 = {instancePath:instancePath+"/spec/model/parameters/temperature",schemaPath:"#/properties/spec/properties/model/properties/parameters/properties/temperature/maximum",keyword:"maximum",params:{comparison: "<=", limit: 2}};
if(vErrors === null){
vErrors = [err38];
}
else {
vErrors.push(err38);
}
errors++;
}
if(data16 < 0 || isNaN(data16)){
const err39 = {instancePath:instancePath+"/spec/model/parameters/temperature",schemaPath:"#/properties/spec/properties/model/properties/parameters/properties/temperature/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0}};
if(vErrors === null){
vErrors = [err39];
}
else {
vErrors.push(err39);
}
errors++;
}
}
else {
const err40 = {instancePath:instancePath+"/spec/model/parameters/temperature",schemaPath:"#/properties/spec/properties/model/properties/parameters/properties/temperature/type",keyword:"type",params:{type: "number"}};
if(vErrors === null){
vErrors = [err40];
}
else {
vErrors.push(err40);
}
errors++;
}
}
if(data15.maxTokens !== undefined){
let data17 = data15.maxTokens;
if(!(((typeof data17 == "number") && (!(data17 % 1) && !isNaN(data17))) && (isFinite(data17)))){
const err41 = {instancePath:instancePath+"/spec/model/parameters/maxTokens",schemaPath:"#/properties/spec/properties/model/properties/parameters/properties/maxTokens/type",keyword:"type",params:{type: "integer"}};
if(vErrors === null){
vErrors = [err41];
}
else {
vErrors.push(err41);
}
errors++;
}
if((typeof data17 == "number") && (isFinite(data17))){
if(data17 < 1 || isNaN(data17)){
const err42 = {instancePath:instancePath+"/spec/model/parameters/maxTokens",schemaPath:"#/properties/spec/properties/model/properties/parameters/properties/maxTokens/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1}};
if(vErrors === null){
vErrors = [err42];
}
else {
vErrors.push(err42);
}
errors++;
}
}
}
if(data15.topP !== undefined){
let data18 = data15.topP;
if((typeof data18 == "number") && (isFinite(data18))){
if(data18 > 1 || isNaN(data18)){
const err43 = {instancePath:instancePath+"/spec/model/parameters/topP",schemaPath:"#/properties/spec/properties/model/properties/parameters/properties/topP/maximum",keyword:"maximum",params:{comparison: "<=", limit: 1}};
if(vErrors === null){
vErrors = [err43];
}
else {
vErrors.push(err43);
}
errors++;
}
if(data18 < 0 || isNaN(data18)){
const err44 = {instancePath:instancePath+"/spec/model/parameters/topP",schemaPath:"#/properties/spec/properties/model/properties/parameters/properties/topP/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0}};
if(vErrors === null){
vErrors = [err44];
}
else {
vErrors.push(err44);
}
errors++;
}
}
else {
const err45 = {instancePath:instancePath+"/spec/model/parameters/topP",schemaPath:"#/properties/spec/properties/model/properties/parameters/properties/topP/type",keyword:"type",params:{type: "number"}};
if(vErrors === null){
vErrors = [err45];
}
else {
vErrors.push(err45);
}
errors++;
}
}
if(data15.frequencyPenalty !== undefined){
let data19 = data15.frequencyPenalty;
if(!((typeof data19 == "number") && (isFinite(data19)))){
const err46 = {instancePath:instancePath+"/spec/model/parameters/frequencyPenalty",schemaPath:"#/properties/spec/properties/model/properties/parameters/properties/frequencyPenalty/type",keyword:"type",params:{type: "number"}};
if(vErrors === null){
vErrors = [err46];
}
else {
vErrors.push(err46);
}
errors++;
}
}
if(data15.presencePenalty !== undefined){
let data20 = data15.presencePenalty;
if(!((typeof data20 == "number") && (isFinite(data20)))){
const err47 = {instancePath:instancePath+"/spec/model/parameters/presencePenalty",schemaPath:"#/properties/spec/properties/model/properties/parameters/properties/presencePenalty/type",keyword:"type",params:{type: "number"}};
if(vErrors === null){
vErrors = [err47];
}
else {
vErrors.push(err47);
}
errors++;
}
}
}
else {
const err48 = {instancePath:instancePath+"/spec/model/parameters",schemaPath:"#/properties/spec/properties/model/properties/parameters/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err48];
}
else {
vErrors.push(err48);
}
errors++;
}
}
if(data11.fallback !== undefined){
let data21 = data11.fallback;
if(data21 && typeof data21 == "object" && !Array.isArray(data21)){
if(data21.provider === undefined){
const err49 = {instancePath:instancePath+"/spec/model/fallback",schemaPath:"#/properties/spec/properties/model/properties/fallback/required",keyword:"required",params:{missingProperty: "provider"}};
if(vErrors === null){
vErrors = [err49];
}
else {
vErrors.push(err49);
}
errors++;
}
if(data21.id === undefined){
const err50 = {instancePath:instancePath+"/spec/model/fallback",schemaPath:"#/properties/spec/properties/model/properties/fallback/required",keyword:"required",params:{missingProperty: "id"}};
if(vErrors === null){
vErrors = [err50];
}
else {
vErrors.push(err50);
}
errors++;
}
if(data21.apiKey === undefined){
const err51 = {instancePath:instancePath+"/spec/model/fallback",schemaPath:"#/properties/spec/properties/model/properties/fallback/required",keyword:"required",params:{missingProperty: "apiKey"}};
if(vErrors === null){
vErrors = [err51];
}
else {
vErrors.push(err51);
}
errors++;
}
for(const key5 in data21){
if(!((((((key5 === "provider") || (key5 === "id")) || (key5 === "apiKey")) || (key5 === "triggerOn")) || (key5 === "maxRetries")) || (pattern4.test(key5)))){
const err52 = {instancePath:instancePath+"/spec/model/fallback",schemaPath:"#/properties/spec/properties/model/properties/fallback/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key5}};
if(vErrors === null){
vErrors = [err52];
}
else {
vErrors.push(err52);
}
errors++;
}
}
if(data21.provider !== undefined){
let data22 = data21.provider;
if(typeof data22 === "string"){
if(data22.length < 1){
const err53 = {instancePath:instancePath+"/spec/model/fallback/provider",schemaPath:"#/properties/spec/properties/model/properties/fallback/properties/provider/minLength",keyword:"minLength",params:{limit: 1}};
if(vErrors === null){
vErrors = [err53];
}
else {
vErrors.push(err53);
}
errors++;
}
}
else {
const err54 = {instancePath:instancePath+"/spec/model/fallback/provider",schemaPath:"#/properties/spec/properties/model/properties/fallback/properties/provider/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err54];
}
else {
vErrors.push(err54);
}
errors++;
}
}
if(data21.id !== undefined){
let data23 = data21.id;
if(typeof data23 === "string"){
if(data23.length < 1){
const err55 = {instancePath:instancePath+"/spec/model/fallback/id",schemaPath:"#/properties/spec/properties/model/properties/fallback/properties/id/minLength",keyword:"minLength",params:{limit: 1}};
if(vErrors === null){
vErrors = [err55];
}
else {
vErrors.push(err55);
}
errors++;
}
}
else {
const err56 = {instancePath:instancePath+"/spec/model/fallback/id",schemaPath:"#/properties/spec/properties/model/properties/fallback/properties/id/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err56];
}
else {
vErrors.push(err56);
}
errors++;
}
}
if(data21.apiKey !== undefined){
let data24 = data21.apiKey;
if(typeof data24 === "string"){
if(data24.length < 1){
const err57 = {instancePath:instancePath+"/spec/model/fallback/apiKey",schemaPath:"#/properties/spec/properties/model/properties/fallback/properties/apiKey/minLength",keyword:"minLength",params:{limit: 1}};
if(vErrors === null){
vErrors = [err57];
}
else {
vErrors.push(err57);
}
errors++;
}
}
else {
const err58 = {instancePath:instancePath+"/spec/model/fallback/apiKey",schemaPath:"#/properties/spec/properties/model/properties/fallback/properties/apiKey/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err58];
}
else {
vErrors.push(err58);
}
errors++;
}
}
if(data21.triggerOn !== undefined){
let data25 = data21.triggerOn;
if(Array.isArray(data25)){
const len1 = data25.length;
for(let i1=0; i1<len1; i1++){
let data26 = data25[i1];
if(typeof data26 !== "string"){
const err59 = {instancePath:instancePath+"/spec/model/fallback/triggerOn/" + i1,schemaPath:"#/properties/spec/properties/model/properties/fallback/properties/triggerOn/items/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err59];
}
else {
vErrors.push(err59);
}
errors++;
}
if(!((((data26 === "rate_limit") || (data26 === "timeout")) || (data26 === "error_5xx")) || (data26 === "error_4xx"))){
const err60 = {instancePath:instancePath+"/spec/model/fallback/triggerOn/" + i1,schemaPath:"#/properties/spec/properties/model/properties/fallback/properties/triggerOn/items/enum",keyword:"enum",params:{allowedValues: schema31.properties.spec.properties.model.properties.fallback.properties.triggerOn.items.enum}};
if(vErrors === null){
vErrors = [err60];
}
else {
vErrors.push(err60);
}
errors++;
}
}
}
else {
const err61 = {instancePath:instancePath+"/spec/model/fallback/triggerOn",schemaPath:"#/properties/spec/properties/model/properties/fallback/properties/triggerOn/type",keyword:"type",params:{type: "array"}};
if(vErrors === null){
vErrors = [err61];
}
else {
vErrors.push(err61);
}
errors++;
}
}
if(data21.maxRetries !== undefined){
let data27 = data21.maxRetries;
if(!(((typeof data27 == "number") && (!(data27 % 1) && !isNaN(data27))) && (isFinite(data27)))){
const err62 = {instancePath:instancePath+"/spec/model/fallback/maxRetries",schemaPath:"#/properties/spec/properties/model/properties/fallback/properties/maxRetries/type",keyword:"type",params:{type: "integer"}};
if(vErrors === null){
vErrors = [err62];
}
else {
vErrors.push(err62);
}
errors++;
}
if((typeof data27 == "number") && (isFinite(data27))){
if(data27 > 10 || isNaN(data27)){
const err63 = {instancePath:instancePath+"/spec/model/fallback/maxRetries",schemaPath:"#/properties/spec/properties/model/properties/fallback/properties/maxRetries/maximum",keyword:"maximum",params:{comparison: "<=", limit: 10}};
if(vErrors === null){
vErrors = [err63];
}
else {
vErrors.push(err63);
}
errors++;
}
if(data27 < 0 || isNaN(data27)){
const err64 = {instancePath:instancePath+"/spec/model/fallback/maxRetries",schemaPath:"#/properties/spec/properties/model/properties/fallback/properties/maxRetries/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0}};
if(vErrors === null){
vErrors = [err64];
}
else {
vErrors.push(err64);
}
errors++;
}
}
}
}
else {
const err65 = {instancePath:instancePath+"/spec/model/fallback",schemaPath:"#/properties/spec/properties/model/properties/fallback/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err65];
}
else {
vErrors.push(err65);
}
errors++;
}
}
if(data11.costControls !== undefined){
let data28 = data11.costControls;
if(data28 && typeof data28 == "object" && !Array.isArray(data28)){
for(const key6 in data28){
if(!(((((key6 === "maxMonthlyUSD") || (key6 === "alertAtUSD")) || (key6 === "maxTokensPerDay")) || (key6 === "usdPerMillionTokens")) || (pattern4.test(key6)))){
const err66 = {instancePath:instancePath+"/spec/model/costControls",schemaPath:"#/properties/spec/properties/model/properties/costControls/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key6}};
if(vErrors === null){
vErrors = [err66];
}
else {
vErrors.push(err66);
}
errors++;
}
}
if(data28.maxMonthlyUSD !== undefined){
let data29 = data28.maxMonthlyUSD;
if((typeof data29 == "number") && (isFinite(data29))){
if(data29 < 0 || isNaN(data29)){
const err67 = {instancePath:instancePath+"/spec/model/costControls/maxMonthlyUSD",schemaPath:"#/properties/spec/properties/model/properties/costControls/properties/maxMonthlyUSD/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0}};
if(vErrors === null){
vErrors = [err67];
}
else {
vErrors.push(err67);
}
errors++;
}
}
else {
const err68 = {instancePath:instancePath+"/spec/model/costControls/maxMonthlyUSD",schemaPath:"#/properties/spec/properties/model/properties/costControls/properties/maxMonthlyUSD/type",keyword:"type",params:{type: "number"}};
if(vErrors === null){
vErrors = [err68];
}
else {
vErrors.push(err68);
}
errors++;
}
}
if(data28.alertAtUSD !== undefined){
let data30 = data28.alertAtUSD;
if((typeof data30 == "number") && (isFinite(data30))){
if(data30 < 0 || isNaN(data30)){
const err69 = {instancePath:instancePath+"/spec/model/costControls/alertAtUSD",schemaPath:"#/properties/spec/properties/model/properties/costControls/properties/alertAtUSD/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0}};
if(vErrors === null){
vErrors = [err69];
}
else {
vErrors.push(err69);
}
errors++;
}
}
else {
const err70 = {instancePath:instancePath+"/spec/model/costControls/alertAtUSD",schemaPath:"#/properties/spec/properties/model/properties/costControls/properties/alertAtUSD/type",keyword:"type",params:{type: "number"}};
if(vErrors === null){
vErrors = [err70];
}
else {
vErrors.push(err70);
}
errors++;
}
}
if(data28.maxTokensPerDay !== undefined){
let data31 = data28.maxTokensPerDay;
if(!(((typeof data31 == "number") && (!(data31 % 1) && !isNaN(data31))) && (isFinite(data31)))){
const err71 = {instancePath:instancePath+"/spec/model/costControls/maxTokensPerDay",schemaPath:"#/properties/spec/properties/model/properties/costControls/properties/maxTokensPerDay/type",keyword:"type",params:{type: "integer"}};
if(vErrors === null){
vErrors = [err71];
}
else {
vErrors.push(err71);
}
errors++;
}
if((typeof data31 == "number") && (isFinite(data31))){
if(data31 < 1 || isNaN(data31)){
const err72 = {instancePath:instancePath+"/spec/model/costControls/maxTokensPerDay",schemaPath:"#/properties/spec/properties/model/properties/costControls/properties/maxTokensPerDay/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1}};
if(vErrors === null){
vErrors = [err72];
}
else {
vErrors.push(err72);
}
errors++;
}
}
}
if(data28.usdPerMillionTokens !== undefined){
let data32 = data28.usdPerMillionTokens;
if(data32 && typeof data32 == "object" && !Array.isArray(data32)){
for(const key7 in data32){
if(!(((key7 === "input") || (key7 === "output")) || (pattern4.test(key7)))){
const err73 = {instancePath:instancePath+"/spec/model/costControls/usdPerMillionTokens",schemaPath:"#/properties/spec/properties/model/properties/costControls/properties/usdPerMillionTokens/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key7}};
if(vErrors === null){
vErrors = [err73];
}
else {
vErrors.push(err73);
}
errors++;
}
}
if(data32.input !== undefined){
let data33 = data32.input;
if((typeof data33 == "number") && (isFinite(data33))){
if(data33 < 0 || isNaN(data33)){
const err74 = {instancePath:instancePath+"/spec/model/costControls/usdPerMillionTokens/input",schemaPath:"#/properties/spec/properties/model/properties/costControls/properties/usdPerMillionTokens/properties/input/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0}};
if(vErrors === null){
vErrors = [err74];
}
else {
vErrors.push(err74);
}
errors++;
}
}
else {
const err75 = {instancePath:instancePath+"/spec/model/costControls/usdPerMillionTokens/input",schemaPath:"#/properties/spec/properties/model/properties/costControls/properties/usdPerMillionTokens/properties/input/type",keyword:"type",params:{type: "number"}};
if(vErrors === null){
vErrors = [err75];
}
else {
vErrors.push(err75);
}
errors++;
}
}
if(data32.output !== undefined){
let data34 = data32.output;
if((typeof data34 == "number") && (isFinite(data34))){
if(data34 < 0 || isNaN(data34)){
const err76 = {instancePath:instancePath+"/spec/model/costControls/usdPerMillionTokens/output",schemaPath:"#/properties/spec/properties/model/properties/costControls/properties/usdPerMillionTokens/properties/output/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0}};
if(vErrors === null){
vErrors = [err76];
}
else {
vErrors.push(err76);
}
errors++;
}
}
else {
const err77 = {instancePath:instancePath+"/spec/model/costControls/usdPerMillionTokens/output",schemaPath:"#/properties/spec/properties/model/properties/costControls/properties/usdPerMillionTokens/properties/output/type",keyword:"type",params:{type: "number"}};
if(vErrors === null){
vErrors = [err77];
}
else {
vErrors.push(err77);
}
errors++;
}
}
}
else {
const err78 = {instancePath:instancePath+"/spec/model/costControls/usdPerMillionTokens",schemaPath:"#/properties/spec/properties/model/properties/costControls/properties/usdPerMillionTokens/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err78];
}
else {
vErrors.push(err78);
}
errors++;
}
}
}
else {
const err79 = {instancePath:instancePath+"/spec/model/costControls",schemaPath:"#/properties/spec/properties/model/properties/costControls/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err79];
}
else {
vErrors.push(err79);
}
errors++;
}
}
}
else {
const err80 = {instancePath:instancePath+"/spec/model",schemaPath:"#/properties/spec/properties/model/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err80];
}
else {
vErrors.push(err80);
}
errors++;
}
}
if(data10.prompts !== undefined){
let data35 = data10.prompts;
if(data35 && typeof data35 == "object" && !Array.isArray(data35)){
for(const key8 in data35){
if(!(((((key8 === "system") || (key8 === "fallback")) || (key8 === "hotReload")) || (key8 === "variables")) || (pattern4.test(key8)))){
const err81 = {instancePath:instancePath+"/spec/prompts",schemaPath:"#/properties/spec/properties/prompts/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key8}};
if(vErrors === null){
vErrors = [err81];
}
else {
vErrors.push(err81);
}
errors++;
}
}
if(data35.system !== undefined){
if(typeof data35.system !== "string"){
const err82 = {instancePath:instancePath+"/spec/prompts/system",schemaPath:"#/properties/spec/properties/prompts/properties/system/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err82];
}
else {
vErrors.push(err82);
}
errors++;
}
}
if(data35.fallback !== undefined){
if(typeof data35.fallback !== "string"){
const err83 = {instancePath:instancePath+"/spec/prompts/fallback",schemaPath:"#/properties/spec/properties/prompts/properties/fallback/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err83];
}
else {
vErrors.push(err83);
}
errors++;
}
}
if(data35.hotReload !== undefined){
if(typeof data35.hotReload !== "boolean"){
const err84 = {instancePath:instancePath+"/spec/prompts/hotReload",schemaPath:"#/properties/spec/properties/prompts/properties/hotReload/type",keyword:"type",params:{type: "boolean"}};
if(vErrors === null){
vErrors = [err84];
}
else {
vErrors.push(err84);
}
errors++;
}
}
if(data35.variables !== undefined){
let data39 = data35.variables;
if(Array.isArray(data39)){
const len2 = data39.length;
for(let i2=0; i2<len2; i2++){
let data40 = data39[i2];
if(data40 && typeof data40 == "object" && !Array.isArray(data40)){
if(data40.name === undefined){
const err85 = {instancePath:instancePath+"/spec/prompts/variables/" + i2,schemaPath:"#/properties/spec/properties/prompts/properties/variables/items/required",keyword:"required",params:{missingProperty: "name"}};
if(vErrors === null){
vErrors = [err85];
}
else {
vErrors.push(err85);
}
errors++;
}
if(data40.value === undefined){
const err86 = {instancePath:instancePath+"/spec/prompts/variables/" + i2,schemaPath:"#/properties/spec/properties/prompts/properties/variables/items/required",keyword:"required",params:{missingProperty: "value"}};
if(vErrors === null){
vErrors = [err86];
}
else {
vErrors.push(err86);
}
errors++;
}
for(const key9 in data40){
if(!(((key9 === "name") || (key9 === "value")) || (pattern4.test(key9)))){
const err87 = {instancePath:instancePath+"/spec/prompts/variables/" + i2,schemaPath:"#/properties/spec/properties/prompts/properties/variables/items/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key9}};
if(vErrors === null){
vErrors = [err87];
}
else {
vErrors.push(err87);
}
errors++;
}
}
if(data40.name !== undefined){
let data41 = data40.name;
if(typeof data41 === "string"){
if(data41.length < 1){
const err88 = {instancePath:instancePath+"/spec/prompts/variables/" + i2+"/name",schemaPath:"#/properties/spec/properties/prompts/properties/variables/items/properties/name/minLength",keyword:"minLength",params:{limit: 1}};
if(vErrors === null){
vErrors = [err88];
}
else {
vErrors.push(err88);
}
errors++;
}
}
else {
const err89 = {instancePath:instancePath+"/spec/prompts/variables/" + i2+"/name",schemaPath:"#/properties/spec/properties/prompts/properties/variables/items/properties/name/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err89];
}
else {
vErrors.push(err89);
}
errors++;
}
}
if(data40.value !== undefined){
if(typeof data40.value !== "string"){
const err90 = {instancePath:instancePath+"/spec/prompts/variables/" + i2+"/value",schemaPath:"#/properties/spec/properties/prompts/properties/variables/items/properties/value/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err90];
}
else {
vErrors.push(err90);
}
errors++;
}
}
}
else {
const err91 = {instancePath:instancePath+"/spec/prompts/variables/" + i2,schemaPath:"#/properties/spec/properties/prompts/properties/variables/items/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err91];
}
else {
vErrors.push(err91);
}
errors++;
}
}
}
else {
const err92 = {instancePath:instancePath+"/spec/prompts/variables",schemaPath:"#/properties/spec/properties/prompts/properties/variables/type",keyword:"type",params:{type: "array"}};
if(vErrors === null){
vErrors = [err92];
}
else {
vErrors.push(err92);
}
errors++;
}
}
}
else {
const err93 = {instancePath:instancePath+"/spec/prompts",schemaPath:"#/properties/spec/properties/prompts/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err93];
}
else {
vErrors.push(err93);
}
errors++;
}
}
if(data10.tools !== undefined){
let data43 = data10.tools;
if(Array.isArray(data43)){
const len3 = data43.length;
for(let i3=0; i3<len3; i3++){
let data44 = data43[i3];
if(data44 && typeof data44 == "object" && !Array.isArray(data44)){
if(data44.name === undefined){
const err94 = {instancePath:instancePath+"/spec/tools/" + i3,schemaPath:"#/properties/spec/properties/tools/items/required",keyword:"required",params:{missingProperty: "name"}};
if(vErrors === null){
vErrors = [err94];
}
else {
vErrors.push(err94);
}
errors++;
}
for(const key10 in data44){
if(!(((((((key10 === "name") || (key10 === "type")) || (key10 === "description")) || (key10 === "module")) || (key10 === "function")) || (key10 === "annotations")) || (pattern4.test(key10)))){
const err95 = {instancePath:instancePath+"/spec/tools/" + i3,schemaPath:"#/properties/spec/properties/tools/items/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key10}};
if(vErrors === null){
vErrors = [err95];
}
else {
vErrors.push(err95);
}
errors++;
}
}
if(data44.name !== undefined){
let data45 = data44.name;
if(typeof data45 === "string"){
if(data45.length < 1){
const err96 = {instancePath:instancePath+"/spec/tools/" + i3+"/name",schemaPath:"#/properties/spec/properties/tools/items/properties/name/minLength",keyword:"minLength",params:{limit: 1}};
if(vErrors === null){
vErrors = [err96];
}
else {
vErrors.push(err96);
}
errors++;
}
}
else {
const err97 = {instancePath:instancePath+"/spec/tools/" + i3+"/name",schemaPath:"#/properties/spec/properties/tools/items/properties/name/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err97];
}
else {
vErrors.push(err97);
}
errors++;
}
}
if(data44.type !== undefined){
let data46 = data44.type;
if(typeof data46 !== "string"){
const err98 = {instancePath:instancePath+"/spec/tools/" + i3+"/type",schemaPath:"#/properties/spec/properties/tools/items/properties/type/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err98];
}
else {
vErrors.push(err98);
}
errors++;
}
if(!(((data46 === "function") || (data46 === "mcp")) || (data46 === "builtin"))){
const err99 = {instancePath:instancePath+"/spec/tools/" + i3+"/type",schemaPath:"#/properties/spec/properties/tools/items/properties/type/enum",keyword:"enum",params:{allowedValues: schema31.properties.spec.properties.tools.items.properties.type.enum}};
if(vErrors === null){
vErrors = [err99];
}
else {
vErrors.push(err99);
}
errors++;
}
}
if(data44.description !== undefined){
if(typeof data44.description !== "string"){
const err100 = {instancePath:instancePath+"/spec/tools/" + i3+"/description",schemaPath:"#/properties/spec/properties/tools/items/properties/description/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err100];
}
else {
vErrors.push(err100);
}
errors++;
}
}
if(data44.module !== undefined){
if(typeof data44.module !== "string"){
const err101 = {instancePath:instancePath+"/spec/tools/" + i3+"/module",schemaPath:"#/properties/spec/properties/tools/items/properties/module/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err101];
}
else {
vErrors.push(err101);
}
errors++;
}
}
if(data44.function !== undefined){
if(typeof data44.function !== "string"){
const err102 = {instancePath:instancePath+"/spec/tools/" + i3+"/function",schemaPath:"#/properties/spec/properties/tools/items/properties/function/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err102];
}
else {
vErrors.push(err102);
}
errors++;
}
}
if(data44.annotations !== undefined){
let data50 = data44.annotations;
if(data50 && typeof data50 == "object" && !Array.isArray(data50)){
for(const key11 in data50){
if(!(((((key11 === "readOnlyHint") || (key11 === "destructiveHint")) || (key11 === "idempotentHint")) || (key11 === "openWorldHint")) || (pattern4.test(key11)))){
const err103 = {instancePath:instancePath+"/spec/tools/" + i3+"/annotations",schemaPath:"#/properties/spec/properties/tools/items/properties/annotations/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key11}};
if(vErrors === null){
vErrors = [err103];
}
else {
vErrors.push(err103);
}
errors++;
}
}
if(data50.readOnlyHint !== undefined){
if(typeof data50.readOnlyHint !== "boolean"){
const err104 = {instancePath:instancePath+"/spec/tools/" + i3+"/annotations/readOnlyHint",schemaPath:"#/properties/spec/properties/tools/items/properties/annotations/properties/readOnlyHint/type",keyword:"type",params:{type: "boolean"}};
if(vErrors === null){
vErrors = [err104];
}
else {
vErrors.push(err104);
}
errors++;
}
}
if(data50.destructiveHint !== undefined){
if(typeof data50.destructiveHint !== "boolean"){
const err105 = {instancePath:instancePath+"/spec/tools/" + i3+"/annotations/destructiveHint",schemaPath:"#/properties/spec/properties/tools/items/properties/annotations/properties/destructiveHint/type",keyword:"type",params:{type: "boolean"}};
if(vErrors === null){
vErrors = [err105];
}
else {
vErrors.push(err105);
}
errors++;
}
}
if(data50.idempotentHint !== undefined){
if(typeof data50.idempotentHint !== "boolean"){
const err106 = {instancePath:instancePath+"/spec/tools/" + i3+"/annotations/idempotentHint",schemaPath:"#/properties/spec/properties/tools/items/properties/annotations/properties/idempotentHint/type",keyword:"type",params:{type: "boolean"}};
if(vErrors === null){
vErrors = [err106];
}
else {
vErrors.push(err106);
}
errors++;
}
}
if(data50.openWorldHint !== undefined){
if(typeof data50.openWorldHint !== "boolean"){
const err107 = {instancePath:instancePath+"/spec/tools/" + i3+"/annotations/openWorldHint",schemaPath:"#/properties/spec/properties/tools/items/properties/annotations/properties/openWorldHint/type",keyword:"type",params:{type: "boolean"}};
if(vErrors === null){
vErrors = [err107];
}
else {
vErrors.push(err107);
}
errors++;
}
}
}
else {
const err108 = {instancePath:instancePath+"/spec/tools/" + i3+"/annotations",schemaPath:"#/properties/spec/properties/tools/items/properties/annotations/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err108];
}
else {
vErrors.push(err108);
}
errors++;
}
}
}
else {
const err109 = {instancePath:instancePath+"/spec/tools/" + i3,schemaPath:"#/properties/spec/properties/tools/items/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err109];
}
else {
vErrors.push(err109);
}
errors++;
}
}
}
else {
const err110 = {instancePath:instancePath+"/spec/tools",schemaPath:"#/properties/spec/properties/tools/type",keyword:"type",params:{type: "array"}};
if(vErrors === null){
vErrors = [err110];
}
else {
vErrors.push(err110);
}
errors++;
}
}
if(data10.mcp !== undefined){
let data55 = data10.mcp;
if(data55 && typeof data55 == "object" && !Array.isArray(data55)){
for(const key12 in data55){
if(!((key12 === "servers") || (pattern4.test(key12)))){
const err111 = {instancePath:instancePath+"/spec/mcp",schemaPath:"#/properties/spec/properties/mcp/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key12}};
if(vErrors === null){
vErrors = [err111];
}
else {
vErrors.push(err111);
}
errors++;
}
}
if(data55.servers !== undefined){
let data56 = data55.servers;
if(Array.isArray(data56)){
const len4 = data56.length;
for(let i4=0; i4<len4; i4++){
let data57 = data56[i4];
const _errs133 = errors;
let valid24 = true;
const _errs134 = errors;
if(data57 && typeof data57 == "object" && !Array.isArray(data57)){
let missing0;
if((data57.transport === undefined) && (missing0 = "transport")){
const err112 = {};
if(vErrors === null){
vErrors = [err112];
}
else {
vErrors.push(err112);
}
errors++;
}
else {
if(data57.transport !== undefined){
if("stdio" !== data57.transport){
const err113 = {};
if(vErrors === null){
vErrors = [err113];
}
else {
vErrors.push(err113);
}
errors++;
}
}
}
}
var _valid1 = _errs134 === errors;
errors = _errs133;
if(vErrors !== null){
if(_errs133){
vErrors.length = _errs133;
}
else {
vErrors = null;
}
}
let ifClause0;
if(_valid1){
const _errs136 = errors;
const _errs137 = errors;
let valid26 = false;
const _errs138 = errors;
if(data57 && typeof data57 == "object" && !Array.isArray(data57)){
if(data57.command === undefined){
const err114 = {instancePath:instancePath+"/spec/mcp/servers/" + i4,schemaPath:"#/properties/spec/properties/mcp/properties/servers/items/then/anyOf/0/required",keyword:"required",params:{missingProperty: "command"}};
if(vErrors === null){
vErrors = [err114];
}
else {
vErrors.push(err114);
}
errors++;
}
}
var _valid2 = _errs138 === errors;
valid26 = valid26 || _valid2;
if(!valid26){
const err115 = {instancePath:instancePath+"/spec/mcp/servers/" + i4,schemaPath:"#/properties/spec/properties/mcp/properties/servers/items/then/anyOf",keyword:"anyOf",params:{}};
if(vErrors === null){
vErrors = [err115];
}
else {
vErrors.push(err115);
}
errors++;
}
else {
errors = _errs137;
if(vErrors !== null){
if(_errs137){
vErrors.length = _errs137;
}
else {
vErrors = null;
}
}
}
var _valid1 = _errs136 === errors;
valid24 = _valid1;
ifClause0 = "then";
}
else {
const _errs139 = errors;
const _errs140 = errors;
let valid27 = true;
const _errs141 = errors;
if(data57 && typeof data57 == "object" && !Array.isArray(data57)){
let missing1;
if((data57.transport === undefined) && (missing1 = "transport")){
const err116 = {};
if(vErrors === null){
vErrors = [err116];
}
else {
vErrors.push(err116);
}
errors++;
}
else {
if(data57.transport !== undefined){
let data59 = data57.transport;
if(!((data59 === "sse") || (data59 === "http"))){
const err117 = {};
if(vErrors === null){
vErrors = [err117];
}
else {
vErrors.push(err117);
}
errors++;
}
}
}
}
var _valid3 = _errs141 === errors;
errors = _errs140;
if(vErrors !== null){
if(_errs140){
vErrors.length = _errs140;
}
else {
vErrors = null;
}
}
let ifClause1;
if(_valid3){
const _errs143 = errors;
const _errs144 = errors;
let valid29 = false;
const _errs145 = errors;
if(data57 && typeof data57 == "object" && !Array.isArray(data57)){
if(data57.url === undefined){
const err118 = {instancePath:instancePath+"/spec/mcp/servers/" + i4,schemaPath:"#/properties/spec/properties/mcp/properties/servers/items/else/then/anyOf/0/required",keyword:"required",params:{missingProperty: "url"}};
if(vErrors === null){
vErrors = [err118];
}
else {
vErrors.push(err118);
}
errors++;
}
}
var _valid4 = _errs145 === errors;
valid29 = valid29 || _valid4;
const _errs146 = errors;
if(data57 && typeof data57 == "object" && !Array.isArray(data57)){
if(data57.host === undefined){
const err119 = {instancePath:instancePath+"/spec/mcp/servers/" + i4,schemaPath:"#/properties/spec/properties/mcp/properties/servers/items/else/then/anyOf/1/required",keyword:"required",params:{missingProperty: "host"}};
if(vErrors === null){
vErrors = [err119];
}
else {
vErrors.push(err119);
}
errors++;
}
if(data57.port === undefined){
const err120 = {instancePath:instancePath+"/spec/mcp/servers/" + i4,schemaPath:"#/properties/spec/properties/mcp/properties/servers/items/else/then/anyOf/1/required",keyword:"required",params:{missingProperty: "port"}};
if(vErrors === null){
vErrors = [err120];
}
else {
vErrors.push(err120);
}
errors++;
}
}
var _valid4 = _errs146 === errors;
valid29 = valid29 || _valid4;
if(!valid29){
const err121 = {instancePath:instancePath+"/spec/mcp/servers/" + i4,schemaPath:"#/properties/spec/properties/mcp/properties/servers/items/else/then/anyOf",keyword:"anyOf",params:{}};
if(vErrors === null){
vErrors = [err121];
}
else {
vErrors.push(err121);
}
errors++;
}
else {
errors = _errs144;
if(vErrors !== null){
if(_errs144){
vErrors.length = _errs144;
}
else {
vErrors = null;
}
}
}
var _valid3 = _errs143 === errors;
valid27 = _valid3;
ifClause1 = "then";
}
else {
const _errs147 = errors;
const _errs148 = errors;
let valid30 = false;
const _errs149 = errors;
if(data57 && typeof data57 == "object" && !Array.isArray(data57)){
if(data57.url === undefined){
const err122 = {instancePath:instancePath+"/spec/mcp/servers/" + i4,schemaPath:"#/properties/spec/properties/mcp/properties/servers/items/else/else/anyOf/0/required",keyword:"required",params:{missingProperty: "url"}};
if(vErrors === null){
vErrors = [err122];
}
else {
vErrors.push(err122);
}
errors++;
}
}
var _valid5 = _errs149 === errors;
valid30 = valid30 || _valid5;
const _errs150 = errors;
if(data57 && typeof data57 == "object" && !Array.isArray(data57)){
if(data57.host === undefined){
const err123 = {instancePath:instancePath+"/spec/mcp/servers/" + i4,schemaPath:"#/properties/spec/properties/mcp/properties/servers/items/else/else/anyOf/1/required",keyword:"required",params:{missingProperty: "host"}};
if(vErrors === null){
vErrors = [err123];
}
else {
vErrors.push(err123);
}
errors++;
}
if(data57.port === undefined){
const err124 = {instancePath:instancePath+"/spec/mcp/servers/" + i4,schemaPath:"#/properties/spec/properties/mcp/properties/servers/items/else/else/anyOf/1/required",keyword:"required",params:{missingProperty: "port"}};
if(vErrors === null){
vErrors = [err124];
}
else {
vErrors.push(err124);
}
errors++;
}
}
var _valid5 = _errs150 === errors;
valid30 = valid30 || _valid5;
const _errs151 = errors;
if(data57 && typeof data57 == "object" && !Array.isArray(data57)){
if(data57.command === undefined){
const err125 = {instancePath:instancePath+"/spec/mcp/servers/" + i4,schemaPath:"#/properties/spec/properties/mcp/properties/servers/items/else/else/anyOf/2/required",keyword:"required",params:{missingProperty: "command"}};
if(vErrors === null){
vErrors = [err125];
}
else {
vErrors.push(err125);
}
errors++;
}
}
var _valid5 = _errs151 === errors;
valid30 = valid30 || _valid5;
if(!valid30){
const err126 = {instancePath:instancePath+"/spec/mcp/servers/" + i4,schemaPath:"#/properties/spec/properties/mcp/properties/servers/items/else/else/anyOf",keyword:"anyOf",params:{}};
if(vErrors === null){
vErrors = [err126];
}
else {
vErrors.push(err126);
}
errors++;
}
else {
errors = _errs148;
if(vErrors !== null){
if(_errs148){
vErrors.length = _errs148;
}
else {
vErrors = null;
}
}
}
var _valid3 = _errs147 === errors;
valid27 = _valid3;
ifClause1 = "else";
}
if(!valid27){
const err127 = {instancePath:instancePath+"/spec/mcp/servers/" + i4,schemaPath:"#/properties/spec/properties/mcp/properties/servers/items/else/if",keyword:"if",params:{failingKeyword: ifClause1}};
if(vErrors === null){
vErrors = [err127];
}
else {
vErrors.push(err127);
}
errors++;
}
var _valid1 = _errs139 === errors;
valid24 = _valid1;
if(valid24){
var props0 = {};
props0.transport = true;
}
ifClause0 = "else";
}
if(!valid24){
const err128 = {instancePath:instancePath+"/spec/mcp/servers/" + i4,schemaPath:"#/properties/spec/properties/mcp/properties/servers/items/if",keyword:"if",params:{failingKeyword: ifClause0}};
if(vErrors === null){
vErrors = [err128];
}
else {
vErrors.push(err128);
}
errors++;
}
if(data57 && typeof data57 == "object" && !Array.isArray(data57)){
if(data57.name === undefined){
const err129 = {instancePath:instancePath+"/spec/mcp/servers/" + i4,schemaPath:"#/properties/spec/properties/mcp/properties/servers/items/required",keyword:"required",params:{missingProperty: "name"}};
if(vErrors === null){
vErrors = [err129];
}
else {
vErrors.push(err129);
}
errors++;
}
for(const key13 in data57){
if(!((func1.call(schema31.properties.spec.properties.mcp.properties.servers.items.properties, key13)) || (pattern4.test(key13)))){
const err130 = {instancePath:instancePath+"/spec/mcp/servers/" + i4,schemaPath:"#/properties/spec/properties/mcp/properties/servers/items/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key13}};
if(vErrors === null){
vErrors = [err130];
}
else {
vErrors.push(err130);
}
errors++;
}
}
if(data57.name !== undefined){
let data60 = data57.name;
if(typeof data60 === "string"){
if(data60.length < 1){
const err131 = {instancePath:instancePath+"/spec/mcp/servers/" + i4+"/name",schemaPath:"#/properties/spec/properties/mcp/properties/servers/items/properties/name/minLength",keyword:"minLength",params:{limit: 1}};
if(vErrors === null){
vErrors = [err131];
}
else {
vErrors.push(err131);
}
errors++;
}
}
else {
const err132 = {instancePath:instancePath+"/spec/mcp/servers/" + i4+"/name",schemaPath:"#/properties/spec/properties/mcp/properties/servers/items/properties/name/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err132];
}
else {
vErrors.push(err132);
}
errors++;
}
}
if(data57.transport !== undefined){
let data61 = data57.transport;
if(typeof data61 !== "string"){
const err133 = {instancePath:instancePath+"/spec/mcp/servers/" + i4+"/transport",schemaPath:"#/properties/spec/properties/mcp/properties/servers/items/properties/transport/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err133];
}
else {
vErrors.push(err133);
}
errors++;
}
if(!(((data61 === "stdio") || (data61 === "sse")) || (data61 === "http"))){
const err134 = {instancePath:instancePath+"/spec/mcp/servers/" + i4+"/transport",schemaPath:"#/properties/spec/properties/mcp/properties/servers/items/properties/transport/enum",keyword:"enum",params:{allowedValues: schema31.properties.spec.properties.mcp.properties.servers.items.properties.transport.enum}};
if(vErrors === null){
vErrors = [err134];
}
else {
vErrors.push(err134);
}
errors++;
}
}
if(data57.host !== undefined){
let data62 = data57.host;
if(typeof data62 === "string"){
if(data62.length < 1){
const err135 = {instancePath:instancePath+"/spec/mcp/servers/" + i4+"/host",schemaPath:"#/properties/spec/properties/mcp/properties/servers/items/properties/host/minLength",keyword:"minLength",params:{limit: 1}};
if(vErrors === null){
vErrors = [err135];
}
else {
vErrors.push(err135);
}
errors++;
}
}
else {
const err136 = {instancePath:instancePath+"/spec/mcp/servers/" + i4+"/host",schemaPath:"#/properties/spec/properties/mcp/properties/servers/items/properties/host/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err136];
}
else {
vErrors.push(err136);
}
errors++;
}
}
if(data57.port !== undefined){
let data63 = data57.port;
if(!(((typeof data63 == "number") && (!(data63 % 1) && !isNaN(data63))) && (isFinite(data63)))){
const err137 = {instancePath:instancePath+"/spec/mcp/servers/" + i4+"/port",schemaPath:"#/properties/spec/properties/mcp/properties/servers/items/properties/port/type",keyword:"type",params:{type: "integer"}};
if(vErrors === null){
vErrors = [err137];
}
else {
vErrors.push(err137);
}
errors++;
}
if((typeof data63 == "number") && (isFinite(data63))){
if(data63 > 65535 || isNaN(data63)){
const err138 = {instancePath:instancePath+"/spec/mcp/servers/" + i4+"/port",schemaPath:"#/properties/spec/properties/mcp/properties/servers/items/properties/port/maximum",keyword:"maximum",params:{comparison: "<=", limit: 65535}};
if(vErrors === null){
vErrors = [err138];
}
else {
vErrors.push(err138);
}
errors++;
}
if(data63 < 1 || isNaN(data63)){
const err139 = {instancePath:instancePath+"/spec/mcp/servers/" + i4+"/port",schemaPath:"#/properties/spec/properties/mcp/properties/servers/items/properties/port/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1}};
if(vErrors === null){
vErrors = [err139];
}
else {
vErrors.push(err139);
}
errors++;
}
}
}
if(data57.url !== undefined){
let data64 = data57.url;
if(typeof data64 !== "string"){
const err140 = {instancePath:instancePath+"/spec/mcp/servers/" + i4+"/url",schemaPath:"#/properties/spec/properties/mcp/properties/servers/items/properties/url/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err140];
}
else {
vErrors.push(err140);
}
errors++;
}
const _errs163 = errors;
let valid32 = true;
const _errs164 = errors;
if(typeof data64 === "string"){
if(!pattern7.test(data64)){
const err141 = {};
if(vErrors === null){
vErrors = [err141];
}
else {
vErrors.push(err141);
}
errors++;
}
}
var _valid6 = _errs164 === errors;
errors = _errs163;
if(vErrors !== null){
if(_errs163){
vErrors.length = _errs163;
}
else {
vErrors = null;
}
}
if(!_valid6){
const _errs165 = errors;
if(typeof data64 === "string"){
if(!pattern22.test(data64)){
const err142 = {instancePath:instancePath+"/spec/mcp/servers/" + i4+"/url",schemaPath:"#/properties/spec/properties/mcp/properties/servers/items/properties/url/else/pattern",keyword:"pattern",params:{pattern: "^https?://[^\\s/?#]+[^\\s]*$"}};
if(vErrors === null){
vErrors = [err142];
}
else {
vErrors.push(err142);
}
errors++;
}
}
var _valid6 = _errs165 === errors;
valid32 = _valid6;
}
if(!valid32){
const err143 = {instancePath:instancePath+"/spec/mcp/servers/" + i4+"/url",schemaPath:"#/properties/spec/properties/mcp/properties/servers/items/properties/url/if",keyword:"if",params:{failingKeyword: "else"}};
if(vErrors === null){
vErrors = [err143];
}
else {
vErrors.push(err143);
}
errors++;
}
}
if(data57.command !== undefined){
let data65 = data57.command;
if(typeof data65 === "string"){
if(data65.length < 1){
const err144 = {instancePath:instancePath+"/spec/mcp/servers/" + i4+"/command",schemaPath:"#/properties/spec/properties/mcp/properties/servers/items/properties/command/minLength",keyword:"minLength",params:{limit: 1}};
if(vErrors === null){
vErrors = [err144];
}
else {
vErrors.push(err144);
}
errors++;
}
}
else {
const err145 = {instancePath:instancePath+"/spec/mcp/servers/" + i4+"/command",schemaPath:"#/properties/spec/properties/mcp/properties/servers/items/properties/command/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err145];
}
else {
vErrors.push(err145);
}
errors++;
}
}
if(data57.args !== undefined){
let data66 = data57.args;
if(Array.isArray(data66)){
const len5 = data66.length;
for(let i5=0; i5<len5; i5++){
if(typeof data66[i5] !== "string"){
const err146 = {instancePath:instancePath+"/spec/mcp/servers/" + i4+"/args/" + i5,schemaPath:"#/properties/spec/properties/mcp/properties/servers/items/properties/args/items/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err146];
}
else {
vErrors.push(err146);
}
errors++;
}
}
}
else {
const err147 = {instancePath:instancePath+"/spec/mcp/servers/" + i4+"/args",schemaPath:"#/properties/spec/properties/mcp/properties/servers/items/properties/args/type",keyword:"type",params:{type: "array"}};
if(vErrors === null){
vErrors = [err147];
}
else {
vErrors.push(err147);
}
errors++;
}
}
if(data57.env !== undefined){
let data68 = data57.env;
if(data68 && typeof data68 == "object" && !Array.isArray(data68)){
for(const key14 in data68){
if(typeof data68[key14] !== "string"){
const err148 = {instancePath:instancePath+"/spec/mcp/servers/" + i4+"/env/" + key14.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/properties/spec/properties/mcp/properties/servers/items/properties/env/additionalProperties/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err148];
}
else {
vErrors.push(err148);
}
errors++;
}
}
}
else {
const err149 = {instancePath:instancePath+"/spec/mcp/servers/" + i4+"/env",schemaPath:"#/properties/spec/properties/mcp/properties/servers/items/properties/env/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err149];
}
else {
vErrors.push(err149);
}
errors++;
}
}
if(data57.healthCheck !== undefined){
let data70 = data57.healthCheck;
if(data70 && typeof data70 == "object" && !Array.isArray(data70)){
for(const key15 in data70){
if(!((key15 === "timeoutSeconds") || (pattern4.test(key15)))){
const err150 = {instancePath:instancePath+"/spec/mcp/servers/" + i4+"/healthCheck",schemaPath:"#/properties/spec/properties/mcp/properties/servers/items/properties/healthCheck/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key15}};
if(vErrors === null){
vErrors = [err150];
}
else {
vErrors.push(err150);
}
errors++;
}
}
if(data70.timeoutSeconds !== undefined){
let data71 = data70.timeoutSeconds;
if(!(((typeof data71 == "number") && (!(data71 % 1) && !isNaN(data71))) && (isFinite(data71)))){
const err151 = {instancePath:instancePath+"/spec/mcp/servers/" + i4+"/healthCheck/timeoutSeconds",schemaPath:"#/properties/spec/properties/mcp/properties/servers/items/properties/healthCheck/properties/timeoutSeconds/type",keyword:"type",params:{type: "integer"}};
if(vErrors === null){
vErrors = [err151];
}
else {
vErrors.push(err151);
}
errors++;
}
if((typeof data71 == "number") && (isFinite(data71))){
if(data71 > 60 || isNaN(data71)){
const err152 = {instancePath:instancePath+"/spec/mcp/servers/" + i4+"/healthCheck/timeoutSeconds",schemaPath:"#/properties/spec/properties/mcp/properties/servers/items/properties/healthCheck/properties/timeoutSeconds/maximum",keyword:"maximum",params:{comparison: "<=", limit: 60}};
if(vErrors === null){
vErrors = [err152];
}
else {
vErrors.push(err152);
}
errors++;
}
if(data71 < 1 || isNaN(data71)){
const err153 = {instancePath:instancePath+"/spec/mcp/servers/" + i4+"/healthCheck/timeoutSeconds",schemaPath:"#/properties/spec/properties/mcp/properties/servers/items/properties/healthCheck/properties/timeoutSeconds/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1}};
if(vErrors === null){
vErrors = [err153];
}
else {
vErrors.push(err153);
}
errors++;
}
}
}
}
else {
const err154 = {instancePath:instancePath+"/spec/mcp/servers/" + i4+"/healthCheck",schemaPath:"#/properties/spec/properties/mcp/properties/servers/items/properties/healthCheck/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err154];
}
else {
vErrors.push(err154);
}
errors++;
}
}
}
else {
const err155 = {instancePath:instancePath+"/spec/mcp/servers/" + i4,schemaPath:"#/properties/spec/properties/mcp/properties/servers/items/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err155];
}
else {
vErrors.push(err155);
}
errors++;
}
}
}
else {
const err156 = {instancePath:instancePath+"/spec/mcp/servers",schemaPath:"#/properties/spec/properties/mcp/properties/servers/type",keyword:"type",params:{type: "array"}};
if(vErrors === null){
vErrors = [err156];
}
else {
vErrors.push(err156);
}
errors++;
}
}
}
else {
const err157 = {instancePath:instancePath+"/spec/mcp",schemaPath:"#/properties/spec/properties/mcp/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err157];
}
else {
vErrors.push(err157);
}
errors++;
}
}
if(data10.memory !== undefined){
let data72 = data10.memory;
if(data72 && typeof data72 == "object" && !Array.isArray(data72)){
for(const key16 in data72){
if(!((((((key16 === "backend") || (key16 === "shortTerm")) || (key16 === "longTerm")) || (key16 === "vector")) || (key16 === "hygiene")) || (pattern4.test(key16)))){
const err158 = {instancePath:instancePath+"/spec/memory",schemaPath:"#/properties/spec/properties/memory/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key16}};
if(vErrors === null){
vErrors = [err158];
}
else {
vErrors.push(err158);
}
errors++;
}
}
if(data72.backend !== undefined){
if(typeof data72.backend !== "string"){
const err159 = {instancePath:instancePath+"/spec/memory/backend",schemaPath:"#/properties/spec/properties/memory/properties/backend/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err159];
}
else {
vErrors.push(err159);
}
errors++;
}
}
if(data72.shortTerm !== undefined){
let data74 = data72.shortTerm;
if(data74 && typeof data74 == "object" && !Array.isArray(data74)){
for(const key17 in data74){
if(!((((((key17 === "backend") || (key17 === "maxTurns")) || (key17 === "maxTokens")) || (key17 === "ttlSeconds")) || (key17 === "connection")) || (pattern4.test(key17)))){
const err160 = {instancePath:instancePath+"/spec/memory/shortTerm",schemaPath:"#/properties/spec/properties/memory/properties/shortTerm/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key17}};
if(vErrors === null){
vErrors = [err160];
}
else {
vErrors.push(err160);
}
errors++;
}
}
if(data74.backend !== undefined){
if(typeof data74.backend !== "string"){
const err161 = {instancePath:instancePath+"/spec/memory/shortTerm/backend",schemaPath:"#/properties/spec/properties/memory/properties/shortTerm/properties/backend/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err161];
}
else {
vErrors.push(err161);
}
errors++;
}
}
if(data74.maxTurns !== undefined){
let data76 = data74.maxTurns;
if(!(((typeof data76 == "number") && (!(data76 % 1) && !isNaN(data76))) && (isFinite(data76)))){
const err162 = {instancePath:instancePath+"/spec/memory/shortTerm/maxTurns",schemaPath:"#/properties/spec/properties/memory/properties/shortTerm/properties/maxTurns/type",keyword:"type",params:{type: "integer"}};
if(vErrors === null){
vErrors = [err162];
}
else {
vErrors.push(err162);
}
errors++;
}
if((typeof data76 == "number") && (isFinite(data76))){
if(data76 < 1 || isNaN(data76)){
const err163 = {instancePath:instancePath+"/spec/memory/shortTerm/maxTurns",schemaPath:"#/properties/spec/properties/memory/properties/shortTerm/properties/maxTurns/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1}};
if(vErrors === null){
vErrors = [err163];
}
else {
vErrors.push(err163);
}
errors++;
}
}
}
if(data74.maxTokens !== undefined){
let data77 = data74.maxTokens;
if(!(((typeof data77 == "number") && (!(data77 % 1) && !isNaN(data77))) && (isFinite(data77)))){
const err164 = {instancePath:instancePath+"/spec/memory/shortTerm/maxTokens",schemaPath:"#/properties/spec/properties/memory/properties/shortTerm/properties/maxTokens/type",keyword:"type",params:{type: "integer"}};
if(vErrors === null){
vErrors = [err164];
}
else {
vErrors.push(err164);
}
errors++;
}
if((typeof data77 == "number") && (isFinite(data77))){
if(data77 < 1 || isNaN(data77)){
const err165 = {instancePath:instancePath+"/spec/memory/shortTerm/maxTokens",schemaPath:"#/properties/spec/properties/memory/properties/shortTerm/properties/maxTokens/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1}};
if(vErrors === null){
vErrors = [err165];
}
else {
vErrors.push(err165);
}
errors++;
}
}
}
if(data74.ttlSeconds !== undefined){
let data78 = data74.ttlSeconds;
if(!(((typeof data78 == "number") && (!(data78 % 1) && !isNaN(data78))) && (isFinite(data78)))){
const err166 = {instancePath:instancePath+"/spec/memory/shortTerm/ttlSeconds",schemaPath:"#/properties/spec/properties/memory/properties/shortTerm/properties/ttlSeconds/type",keyword:"type",params:{type: "integer"}};
if(vErrors === null){
vErrors = [err166];
}
else {
vErrors.push(err166);
}
errors++;
}
if((typeof data78 == "number") && (isFinite(data78))){
if(data78 < 0 || isNaN(data78)){
const err167 = {instancePath:instancePath+"/spec/memory/shortTerm/ttlSeconds",schemaPath:"#/properties/spec/properties/memory/properties/shortTerm/properties/ttlSeconds/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0}};
if(vErrors === null){
vErrors = [err167];
}
else {
vErrors.push(err167);
}
errors++;
}
}
}
if(data74.connection !== undefined){
if(typeof data74.connection !== "string"){
const err168 = {instancePath:instancePath+"/spec/memory/shortTerm/connection",schemaPath:"#/properties/spec/properties/memory/properties/shortTerm/properties/connection/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err168];
}
else {
vErrors.push(err168);
}
errors++;
}
}
}
else {
const err169 = {instancePath:instancePath+"/spec/memory/shortTerm",schemaPath:"#/properties/spec/properties/memory/properties/shortTerm/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err169];
}
else {
vErrors.push(err169);
}
errors++;
}
}
if(data72.longTerm !== undefined){
let data80 = data72.longTerm;
if(data80 && typeof data80 == "object" && !Array.isArray(data80)){
if(data80.backend === undefined){
const err170 = {instancePath:instancePath+"/spec/memory/longTerm",schemaPath:"#/properties/spec/properties/memory/properties/longTerm/required",keyword:"required",params:{missingProperty: "backend"}};
if(vErrors === null){
vErrors = [err170];
}
else {
vErrors.push(err170);
}
errors++;
}
for(const key18 in data80){
if(!(((((key18 === "backend") || (key18 === "connectionString")) || (key18 === "table")) || (key18 === "ttlDays")) || (pattern4.test(key18)))){
const err171 = {instancePath:instancePath+"/spec/memory/longTerm",schemaPath:"#/properties/spec/properties/memory/properties/longTerm/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key18}};
if(vErrors === null){
vErrors = [err171];
}
else {
vErrors.push(err171);
}
errors++;
}
}
if(data80.backend !== undefined){
let data81 = data80.backend;
if(typeof data81 === "string"){
if(data81.length < 1){
const err172 = {instancePath:instancePath+"/spec/memory/longTerm/backend",schemaPath:"#/properties/spec/properties/memory/properties/longTerm/properties/backend/minLength",keyword:"minLength",params:{limit: 1}};
if(vErrors === null){
vErrors = [err172];
}
else {
vErrors.push(err172);
}
errors++;
}
}
else {
const err173 = {instancePath:instancePath+"/spec/memory/longTerm/backend",schemaPath:"#/properties/spec/properties/memory/properties/longTerm/properties/backend/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err173];
}
else {
vErrors.push(err173);
}
errors++;
}
}
if(data80.connectionString !== undefined){
if(typeof data80.connectionString !== "string"){
const err174 = {instancePath:instancePath+"/spec/memory/longTerm/connectionString",schemaPath:"#/properties/spec/properties/memory/properties/longTerm/properties/connectionString/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err174];
}
else {
vErrors.push(err174);
}
errors++;
}
}
if(data80.table !== undefined){
if(typeof data80.table !== "string"){
const err175 = {instancePath:instancePath+"/spec/memory/longTerm/table",schemaPath:"#/properties/spec/properties/memory/properties/longTerm/properties/table/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err175];
}
else {
vErrors.push(err175);
}
errors++;
}
}
if(data80.ttlDays !== undefined){
let data84 = data80.ttlDays;
if(!(((typeof data84 == "number") && (!(data84 % 1) && !isNaN(data84))) && (isFinite(data84)))){
const err176 = {instancePath:instancePath+"/spec/memory/longTerm/ttlDays",schemaPath:"#/properties/spec/properties/memory/properties/longTerm/properties/ttlDays/type",keyword:"type",params:{type: "integer"}};
if(vErrors === null){
vErrors = [err176];
}
else {
vErrors.push(err176);
}
errors++;
}
if((typeof data84 == "number") && (isFinite(data84))){
if(data84 < 0 || isNaN(data84)){
const err177 = {instancePath:instancePath+"/spec/memory/longTerm/ttlDays",schemaPath:"#/properties/spec/properties/memory/properties/longTerm/properties/ttlDays/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0}};
if(vErrors === null){
vErrors = [err177];
}
else {
vErrors.push(err177);
}
errors++;
}
}
}
}
else {
const err178 = {instancePath:instancePath+"/spec/memory/longTerm",schemaPath:"#/properties/spec/properties/memory/properties/longTerm/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err178];
}
else {
vErrors.push(err178);
}
errors++;
}
}
if(data72.vector !== undefined){
let data85 = data72.vector;
if(data85 && typeof data85 == "object" && !Array.isArray(data85)){
if(data85.backend === undefined){
const err179 = {instancePath:instancePath+"/spec/memory/vector",schemaPath:"#/properties/spec/properties/memory/properties/vector/required",keyword:"required",params:{missingProperty: "backend"}};
if(vErrors === null){
vErrors = [err179];
}
else {
vErrors.push(err179);
}
errors++;
}
for(const key19 in data85){
if(!(((((((key19 === "backend") || (key19 === "connectionString")) || (key19 === "apiKey")) || (key19 === "dimension")) || (key19 === "topK")) || (key19 === "namespace")) || (pattern4.test(key19)))){
const err180 = {instancePath:instancePath+"/spec/memory/vector",schemaPath:"#/properties/spec/properties/memory/properties/vector/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key19}};
if(vErrors === null){
vErrors = [err180];
}
else {
vErrors.push(err180);
}
errors++;
}
}
if(data85.backend !== undefined){
let data86 = data85.backend;
if(typeof data86 === "string"){
if(data86.length < 1){
const err181 = {instancePath:instancePath+"/spec/memory/vector/backend",schemaPath:"#/properties/spec/properties/memory/properties/vector/properties/backend/minLength",keyword:"minLength",params:{limit: 1}};
if(vErrors === null){
vErrors = [err181];
}
else {
vErrors.push(err181);
}
errors++;
}
}
else {
const err182 = {instancePath:instancePath+"/spec/memory/vector/backend",schemaPath:"#/properties/spec/properties/memory/properties/vector/properties/backend/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err182];
}
else {
vErrors.push(err182);
}
errors++;
}
}
if(data85.connectionString !== undefined){
if(typeof data85.connectionString !== "string"){
const err183 = {instancePath:instancePath+"/spec/memory/vector/connectionString",schemaPath:"#/properties/spec/properties/memory/properties/vector/properties/connectionString/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err183];
}
else {
vErrors.push(err183);
}
errors++;
}
}
if(data85.apiKey !== undefined){
let data88 = data85.apiKey;
if(typeof data88 === "string"){
if(data88.length < 1){
const err184 = {instancePath:instancePath+"/spec/memory/vector/apiKey",schemaPath:"#/properties/spec/properties/memory/properties/vector/properties/apiKey/minLength",keyword:"minLength",params:{limit: 1}};
if(vErrors === null){
vErrors = [err184];
}
else {
vErrors.push(err184);
}
errors++;
}
}
else {
const err185 = {instancePath:instancePath+"/spec/memory/vector/apiKey",schemaPath:"#/properties/spec/properties/memory/properties/vector/properties/apiKey/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err185];
}
else {
vErrors.push(err185);
}
errors++;
}
}
if(data85.dimension !== undefined){
let data89 = data85.dimension;
if(!(((typeof data89 == "number") && (!(data89 % 1) && !isNaN(data89))) && (isFinite(data89)))){
const err186 = {instancePath:instancePath+"/spec/memory/vector/dimension",schemaPath:"#/properties/spec/properties/memory/properties/vector/properties/dimension/type",keyword:"type",params:{type: "integer"}};
if(vErrors === null){
vErrors = [err186];
}
else {
vErrors.push(err186);
}
errors++;
}
if((typeof data89 == "number") && (isFinite(data89))){
if(data89 < 1 || isNaN(data89)){
const err187 = {instancePath:instancePath+"/spec/memory/vector/dimension",schemaPath:"#/properties/spec/properties/memory/properties/vector/properties/dimension/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1}};
if(vErrors === null){
vErrors = [err187];
}
else {
vErrors.push(err187);
}
errors++;
}
}
}
if(data85.topK !== undefined){
let data90 = data85.topK;
if(!(((typeof data90 == "number") && (!(data90 % 1) && !isNaN(data90))) && (isFinite(data90)))){
const err188 = {instancePath:instancePath+"/spec/memory/vector/topK",schemaPath:"#/properties/spec/properties/memory/properties/vector/properties/topK/type",keyword:"type",params:{type: "integer"}};
if(vErrors === null){
vErrors = [err188];
}
else {
vErrors.push(err188);
}
errors++;
}
if((typeof data90 == "number") && (isFinite(data90))){
if(data90 < 1 || isNaN(data90)){
const err189 = {instancePath:instancePath+"/spec/memory/vector/topK",schemaPath:"#/properties/spec/properties/memory/properties/vector/properties/topK/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1}};
if(vErrors === null){
vErrors = [err189];
}
else {
vErrors.push(err189);
}
errors++;
}
}
}
if(data85.namespace !== undefined){
if(typeof data85.namespace !== "string"){
const err190 = {instancePath:instancePath+"/spec/memory/vector/namespace",schemaPath:"#/properties/spec/properties/memory/properties/vector/properties/namespace/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err190];
}
else {
vErrors.push(err190);
}
errors++;
}
}
}
else {
const err191 = {instancePath:instancePath+"/spec/memory/vector",schemaPath:"#/properties/spec/properties/memory/properties/vector/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err191];
}
else {
vErrors.push(err191);
}
errors++;
}
}
if(data72.hygiene !== undefined){
let data92 = data72.hygiene;
if(data92 && typeof data92 == "object" && !Array.isArray(data92)){
for(const key20 in data92){
if(!((((key20 === "piiScrubFields") || (key20 === "auditLog")) || (key20 === "retentionPolicy")) || (pattern4.test(key20)))){
const err192 = {instancePath:instancePath+"/spec/memory/hygiene",schemaPath:"#/properties/spec/properties/memory/properties/hygiene/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key20}};
if(vErrors === null){
vErrors = [err192];
}
else {
vErrors.push(err192);
}
errors++;
}
}
if(data92.piiScrubFields !== undefined){
let data93 = data92.piiScrubFields;
if(Array.isArray(data93)){
const len6 = data93.length;
for(let i6=0; i6<len6; i6++){
if(typeof data93[i6] !== "string"){
const err193 = {instancePath:instancePath+"/spec/memory/hygiene/piiScrubFields/" + i6,schemaPath:"#/properties/spec/properties/memory/properties/hygiene/properties/piiScrubFields/items/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err193];
}
else {
vErrors.push(err193);
}
errors++;
}
}
}
else {
const err194 = {instancePath:instancePath+"/spec/memory/hygiene/piiScrubFields",schemaPath:"#/properties/spec/properties/memory/properties/hygiene/properties/piiScrubFields/type",keyword:"type",params:{type: "array"}};
if(vErrors === null){
vErrors = [err194];
}
else {
vErrors.push(err194);
}
errors++;
}
}
if(data92.auditLog !== undefined){
if(typeof data92.auditLog !== "boolean"){
const err195 = {instancePath:instancePath+"/spec/memory/hygiene/auditLog",schemaPath:"#/properties/spec/properties/memory/properties/hygiene/properties/auditLog/type",keyword:"type",params:{type: "boolean"}};
if(vErrors === null){
vErrors = [err195];
}
else {
vErrors.push(err195);
}
errors++;
}
}
if(data92.retentionPolicy !== undefined){
if(typeof data92.retentionPolicy !== "string"){
const err196 = {instancePath:instancePath+"/spec/memory/hygiene/retentionPolicy",schemaPath:"#/properties/spec/properties/memory/properties/hygiene/properties/retentionPolicy/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err196];
}
else {
vErrors.push(err196);
}
errors++;
}
}
}
else {
const err197 = {instancePath:instancePath+"/spec/memory/hygiene",schemaPath:"#/properties/spec/properties/memory/properties/hygiene/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err197];
}
else {
vErrors.push(err197);
}
errors++;
}
}
}
else {
const err198 = {instancePath:instancePath+"/spec/memory",schemaPath:"#/properties/spec/properties/memory/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err198];
}
else {
vErrors.push(err198);
}
errors++;
}
}
if(data10.requires !== undefined){
let data97 = data10.requires;
if(data97 && typeof data97 == "object" && !Array.isArray(data97)){
for(const key21 in data97){
if(!((((((key21 === "envVars") || (key21 === "services")) || (key21 === "minimumMemoryMB")) || (key21 === "nodeVersion")) || (key21 === "pythonVersion")) || (pattern4.test(key21)))){
const err199 = {instancePath:instancePath+"/spec/requires",schemaPath:"#/properties/spec/properties/requires/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key21}};
if(vErrors === null){
vErrors = [err199];
}
else {
vErrors.push(err199);
}
errors++;
}
}
if(data97.envVars !== undefined){
let data98 = data97.envVars;
if(Array.isArray(data98)){
const len7 = data98.length;
for(let i7=0; i7<len7; i7++){
let data99 = data98[i7];
if(typeof data99 === "string"){
if(!pattern30.test(data99)){
const err200 = {instancePath:instancePath+"/spec/requires/envVars/" + i7,schemaPath:"#/properties/spec/properties/requires/properties/envVars/items/pattern",keyword:"pattern",params:{pattern: "^[A-Za-z_][A-Za-z0-9_]*$"}};
if(vErrors === null){
vErrors = [err200];
}
else {
vErrors.push(err200);
}
errors++;
}
}
else {
const err201 = {instancePath:instancePath+"/spec/requires/envVars/" + i7,schemaPath:"#/properties/spec/properties/requires/properties/envVars/items/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err201];
}
else {
vErrors.push(err201);
}
errors++;
}
}
}
else {
const err202 = {instancePath:instancePath+"/spec/requires/envVars",schemaPath:"#/properties/spec/properties/requires/properties/envVars/type",keyword:"type",params:{type: "array"}};
if(vErrors === null){
vErrors = [err202];
}
else {
vErrors.push(err202);
}
errors++;
}
}
if(data97.services !== undefined){
let data100 = data97.services;
if(Array.isArray(data100)){
const len8 = data100.length;
for(let i8=0; i8<len8; i8++){
let data101 = data100[i8];
const _errs248 = errors;
let valid49 = false;
const _errs249 = errors;
if(data101 && typeof data101 == "object" && !Array.isArray(data101)){
if(data101.name === undefined){
const err203 = {instancePath:instancePath+"/spec/requires/services/" + i8,schemaPath:"#/properties/spec/properties/requires/properties/services/items/anyOf/0/required",keyword:"required",params:{missingProperty: "name"}};
if(vErrors === null){
vErrors = [err203];
}
else {
vErrors.push(err203);
}
errors++;
}
}
var _valid7 = _errs249 === errors;
valid49 = valid49 || _valid7;
const _errs250 = errors;
if(data101 && typeof data101 == "object" && !Array.isArray(data101)){
if(data101.type === undefined){
const err204 = {instancePath:instancePath+"/spec/requires/services/" + i8,schemaPath:"#/properties/spec/properties/requires/properties/services/items/anyOf/1/required",keyword:"required",params:{missingProperty: "type"}};
if(vErrors === null){
vErrors = [err204];
}
else {
vErrors.push(err204);
}
errors++;
}
}
var _valid7 = _errs250 === errors;
valid49 = valid49 || _valid7;
if(!valid49){
const err205 = {instancePath:instancePath+"/spec/requires/services/" + i8,schemaPath:"#/properties/spec/properties/requires/properties/services/items/anyOf",keyword:"anyOf",params:{}};
if(vErrors === null){
vErrors = [err205];
}
else {
vErrors.push(err205);
}
errors++;
}
else {
errors = _errs248;
if(vErrors !== null){
if(_errs248){
vErrors.length = _errs248;
}
else {
vErrors = null;
}
}
}
if(data101 && typeof data101 == "object" && !Array.isArray(data101)){
for(const key22 in data101){
if(!(((((key22 === "name") || (key22 === "type")) || (key22 === "address")) || (key22 === "critical")) || (pattern4.test(key22)))){
const err206 = {instancePath:instancePath+"/spec/requires/services/" + i8,schemaPath:"#/properties/spec/properties/requires/properties/services/items/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key22}};
if(vErrors === null){
vErrors = [err206];
}
else {
vErrors.push(err206);
}
errors++;
}
}
if(data101.name !== undefined){
let data102 = data101.name;
if(typeof data102 === "string"){
if(data102.length < 1){
const err207 = {instancePath:instancePath+"/spec/requires/services/" + i8+"/name",schemaPath:"#/properties/spec/properties/requires/properties/services/items/properties/name/minLength",keyword:"minLength",params:{limit: 1}};
if(vErrors === null){
vErrors = [err207];
}
else {
vErrors.push(err207);
}
errors++;
}
}
else {
const err208 = {instancePath:instancePath+"/spec/requires/services/" + i8+"/name",schemaPath:"#/properties/spec/properties/requires/properties/services/items/properties/name/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err208];
}
else {
vErrors.push(err208);
}
errors++;
}
}
if(data101.type !== undefined){
let data103 = data101.type;
if(typeof data103 === "string"){
if(data103.length < 1){
const err209 = {instancePath:instancePath+"/spec/requires/services/" + i8+"/type",schemaPath:"#/properties/spec/properties/requires/properties/services/items/properties/type/minLength",keyword:"minLength",params:{limit: 1}};
if(vErrors === null){
vErrors = [err209];
}
else {
vErrors.push(err209);
}
errors++;
}
}
else {
const err210 = {instancePath:instancePath+"/spec/requires/services/" + i8+"/type",schemaPath:"#/properties/spec/properties/requires/properties/services/items/properties/type/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err210];
}
else {
vErrors.push(err210);
}
errors++;
}
}
if(data101.address !== undefined){
let data104 = data101.address;
if(typeof data104 !== "string"){
const err211 = {instancePath:instancePath+"/spec/requires/services/" + i8+"/address",schemaPath:"#/properties/spec/properties/requires/properties/services/items/properties/address/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err211];
}
else {
vErrors.push(err211);
}
errors++;
}
const _errs258 = errors;
let valid51 = true;
const _errs259 = errors;
if(typeof data104 === "string"){
if(!pattern7.test(data104)){
const err212 = {};
if(vErrors === null){
vErrors = [err212];
}
else {
vErrors.push(err212);
}
errors++;
}
}
var _valid8 = _errs259 === errors;
errors = _errs258;
if(vErrors !== null){
if(_errs258){
vErrors.length = _errs258;
}
else {
vErrors = null;
}
}
if(!_valid8){
const _errs260 = errors;
if(typeof data104 === "string"){
if(!pattern33.test(data104)){
const err213 = {instancePath:instancePath+"/spec/requires/services/" + i8+"/address",schemaPath:"#/properties/spec/properties/requires/properties/services/items/properties/address/else/pattern",keyword:"pattern",params:{pattern: "^(?:[A-Za-z][A-Za-z0-9+.-]*://[^\\s]+|(?:\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?):(?:[1-9]\\d{0,3}|[1-5]\\d{4}|6[0-4]\\d{3}|65[0-4]\\d{2}|655[0-2]\\d|6553[0-5]))$"}};
if(vErrors === null){
vErrors = [err213];
}
else {
vErrors.push(err213);
}
errors++;
}
}
var _valid8 = _errs260 === errors;
valid51 = _valid8;
}
if(!valid51){
const err214 = {instancePath:instancePath+"/spec/requires/services/" + i8+"/address",schemaPath:"#/properties/spec/properties/requires/properties/services/items/properties/address/if",keyword:"if",params:{failingKeyword: "else"}};
if(vErrors === null){
vErrors = [err214];
}
else {
vErrors.push(err214);
}
errors++;
}
}
if(data101.critical !== undefined){
if(typeof data101.critical !== "boolean"){
const err215 = {instancePath:instancePath+"/spec/requires/services/" + i8+"/critical",schemaPath:"#/properties/spec/properties/requires/properties/services/items/properties/critical/type",keyword:"type",params:{type: "boolean"}};
if(vErrors === null){
vErrors = [err215];
}
else {
vErrors.push(err215);
}
errors++;
}
}
}
else {
const err216 = {instancePath:instancePath+"/spec/requires/services/" + i8,schemaPath:"#/properties/spec/properties/requires/properties/services/items/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err216];
}
else {
vErrors.push(err216);
}
errors++;
}
}
}
else {
const err217 = {instancePath:instancePath+"/spec/requires/services",schemaPath:"#/properties/spec/properties/requires/properties/services/type",keyword:"type",params:{type: "array"}};
if(vErrors === null){
vErrors = [err217];
}
else {
vErrors.push(err217);
}
errors++;
}
}
if(data97.minimumMemoryMB !== undefined){
let data106 = data97.minimumMemoryMB;
if(!(((typeof data106 == "number") && (!(data106 % 1) && !isNaN(data106))) && (isFinite(data106)))){
const err218 = {instancePath:instancePath+"/spec/requires/minimumMemoryMB",schemaPath:"#/properties/spec/properties/requires/properties/minimumMemoryMB/type",keyword:"type",params:{type: "integer"}};
if(vErrors === null){
vErrors = [err218];
}
else {
vErrors.push(err218);
}
errors++;
}
if((typeof data106 == "number") && (isFinite(data106))){
if(data106 < 1 || isNaN(data106)){
const err219 = {instancePath:instancePath+"/spec/requires/minimumMemoryMB",schemaPath:"#/properties/spec/properties/requires/properties/minimumMemoryMB/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1}};
if(vErrors === null){
vErrors = [err219];
}
else {
vErrors.push(err219);
}
errors++;
}
}
}
if(data97.nodeVersion !== undefined){
if(typeof data97.nodeVersion !== "string"){
const err220 = {instancePath:instancePath+"/spec/requires/nodeVersion",schemaPath:"#/properties/spec/properties/requires/properties/nodeVersion/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err220];
}
else {
vErrors.push(err220);
}
errors++;
}
}
if(data97.pythonVersion !== undefined){
if(typeof data97.pythonVersion !== "string"){
const err221 = {instancePath:instancePath+"/spec/requires/pythonVersion",schemaPath:"#/properties/spec/properties/requires/properties/pythonVersion/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err221];
}
else {
vErrors.push(err221);
}
errors++;
}
}
}
else {
const err222 = {instancePath:instancePath+"/spec/requires",schemaPath:"#/properties/spec/properties/requires/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err222];
}
else {
vErrors.push(err222);
}
errors++;
}
}
if(data10.guardrails !== undefined){
let data109 = data10.guardrails;
if(data109 && typeof data109 == "object" && !Array.isArray(data109)){
for(const key23 in data109){
if(!(((key23 === "input") || (key23 === "output")) || (pattern4.test(key23)))){
const err223 = {instancePath:instancePath+"/spec/guardrails",schemaPath:"#/properties/spec/properties/guardrails/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key23}};
if(vErrors === null){
vErrors = [err223];
}
else {
vErrors.push(err223);
}
errors++;
}
}
if(data109.input !== undefined){
let data110 = data109.input;
if(Array.isArray(data110)){
const len9 = data110.length;
for(let i9=0; i9<len9; i9++){
let data111 = data110[i9];
if(data111 && typeof data111 == "object" && !Array.isArray(data111)){
if(data111.type === undefined){
const err224 = {instancePath:instancePath+"/spec/guardrails/input/" + i9,schemaPath:"#/properties/spec/properties/guardrails/properties/input/items/required",keyword:"required",params:{missingProperty: "type"}};
if(vErrors === null){
vErrors = [err224];
}
else {
vErrors.push(err224);
}
errors++;
}
for(const key24 in data111){
if(!((func1.call(schema31.properties.spec.properties.guardrails.properties.input.items.properties, key24)) || (pattern4.test(key24)))){
const err225 = {instancePath:instancePath+"/spec/guardrails/input/" + i9,schemaPath:"#/properties/spec/properties/guardrails/properties/input/items/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key24}};
if(vErrors === null){
vErrors = [err225];
}
else {
vErrors.push(err225);
}
errors++;
}
}
if(data111.type !== undefined){
let data112 = data111.type;
if(typeof data112 !== "string"){
const err226 = {instancePath:instancePath+"/spec/guardrails/input/" + i9+"/type",schemaPath:"#/properties/spec/properties/guardrails/properties/input/items/properties/type/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err226];
}
else {
vErrors.push(err226);
}
errors++;
}
if(!((((((data112 === "topic-filter") || (data112 === "pii-detector")) || (data112 === "prompt-injection")) || (data112 === "hallucination-detector")) || (data112 === "toxicity-filter")) || (data112 === "custom"))){
const err227 = {instancePath:instancePath+"/spec/guardrails/input/" + i9+"/type",schemaPath:"#/properties/spec/properties/guardrails/properties/input/items/properties/type/enum",keyword:"enum",params:{allowedValues: schema31.properties.spec.properties.guardrails.properties.input.items.properties.type.enum}};
if(vErrors === null){
vErrors = [err227];
}
else {
vErrors.push(err227);
}
errors++;
}
}
if(data111.action !== undefined){
if(typeof data111.action !== "string"){
const err228 = {instancePath:instancePath+"/spec/guardrails/input/" + i9+"/action",schemaPath:"#/properties/spec/properties/guardrails/properties/input/items/properties/action/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err228];
}
else {
vErrors.push(err228);
}
errors++;
}
}
if(data111.threshold !== undefined){
let data114 = data111.threshold;
if((typeof data114 == "number") && (isFinite(data114))){
if(data114 > 1 || isNaN(data114)){
const err229 = {instancePath:instancePath+"/spec/guardrails/input/" + i9+"/threshold",schemaPath:"#/properties/spec/properties/guardrails/properties/input/items/properties/threshold/maximum",keyword:"maximum",params:{comparison: "<=", limit: 1}};
if(vErrors === null){
vErrors = [err229];
}
else {
vErrors.push(err229);
}
errors++;
}
if(data114 < 0 || isNaN(data114)){
const err230 = {instancePath:instancePath+"/spec/guardrails/input/" + i9+"/threshold",schemaPath:"#/properties/spec/properties/guardrails/properties/input/items/properties/threshold/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0}};
if(vErrors === null){
vErrors = [err230];
}
else {
vErrors.push(err230);
}
errors++;
}
}
else {
const err231 = {instancePath:instancePath+"/spec/guardrails/input/" + i9+"/threshold",schemaPath:"#/properties/spec/properties/guardrails/properties/input/items/properties/threshold/type",keyword:"type",params:{type: "number"}};
if(vErrors === null){
vErrors = [err231];
}
else {
vErrors.push(err231);
}
errors++;
}
}
if(data111.blockedTopics !== undefined){
let data115 = data111.blockedTopics;
if(Array.isArray(data115)){
const len10 = data115.length;
for(let i10=0; i10<len10; i10++){
if(typeof data115[i10] !== "string"){
const err232 = {instancePath:instancePath+"/spec/guardrails/input/" + i9+"/blockedTopics/" + i10,schemaPath:"#/properties/spec/properties/guardrails/properties/input/items/properties/blockedTopics/items/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err232];
}
else {
vErrors.push(err232);
}
errors++;
}
}
}
else {
const err233 = {instancePath:instancePath+"/spec/guardrails/input/" + i9+"/blockedTopics",schemaPath:"#/properties/spec/properties/guardrails/properties/input/items/properties/blockedTopics/type",keyword:"type",params:{type: "array"}};
if(vErrors === null){
vErrors = [err233];
}
else {
vErrors.push(err233);
}
errors++;
}
}
if(data111.fields !== undefined){
let data117 = data111.fields;
if(Array.isArray(data117)){
const len11 = data117.length;
for(let i11=0; i11<len11; i11++){
if(typeof data117[i11] !== "string"){
const err234 = {instancePath:instancePath+"/spec/guardrails/input/" + i9+"/fields/" + i11,schemaPath:"#/properties/spec/properties/guardrails/properties/input/items/properties/fields/items/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err234];
}
else {
vErrors.push(err234);
}
errors++;
}
}
}
else {
const err235 = {instancePath:instancePath+"/spec/guardrails/input/" + i9+"/fields",schemaPath:"#/properties/spec/properties/guardrails/properties/input/items/properties/fields/type",keyword:"type",params:{type: "array"}};
if(vErrors === null){
vErrors = [err235];
}
else {
vErrors.push(err235);
}
errors++;
}
}
if(data111.sensitivity !== undefined){
if(typeof data111.sensitivity !== "string"){
const err236 = {instancePath:instancePath+"/spec/guardrails/input/" + i9+"/sensitivity",schemaPath:"#/properties/spec/properties/guardrails/properties/input/items/properties/sensitivity/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err236];
}
else {
vErrors.push(err236);
}
errors++;
}
}
if(data111.module !== undefined){
if(typeof data111.module !== "string"){
const err237 = {instancePath:instancePath+"/spec/guardrails/input/" + i9+"/module",schemaPath:"#/properties/spec/properties/guardrails/properties/input/items/properties/module/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err237];
}
else {
vErrors.push(err237);
}
errors++;
}
}
if(data111.function !== undefined){
if(typeof data111.function !== "string"){
const err238 = {instancePath:instancePath+"/spec/guardrails/input/" + i9+"/function",schemaPath:"#/properties/spec/properties/guardrails/properties/input/items/properties/function/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err238];
}
else {
vErrors.push(err238);
}
errors++;
}
}
if(data111.maxRetries !== undefined){
let data122 = data111.maxRetries;
if(!(((typeof data122 == "number") && (!(data122 % 1) && !isNaN(data122))) && (isFinite(data122)))){
const err239 = {instancePath:instancePath+"/spec/guardrails/input/" + i9+"/maxRetries",schemaPath:"#/properties/spec/properties/guardrails/properties/input/items/properties/maxRetries/type",keyword:"type",params:{type: "integer"}};
if(vErrors === null){
vErrors = [err239];
}
else {
vErrors.push(err239);
}
errors++;
}
if((typeof data122 == "number") && (isFinite(data122))){
if(data122 < 0 || isNaN(data122)){
const err240 = {instancePath:instancePath+"/spec/guardrails/input/" + i9+"/maxRetries",schemaPath:"#/properties/spec/properties/guardrails/properties/input/items/properties/maxRetries/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0}};
if(vErrors === null){
vErrors = [err240];
}
else {
vErrors.push(err240);
}
errors++;
}
}
}
if(data111.message !== undefined){
if(typeof data111.message !== "string"){
const err241 = {instancePath:instancePath+"/spec/guardrails/input/" + i9+"/message",schemaPath:"#/properties/spec/properties/guardrails/properties/input/items/properties/message/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err241];
}
else {
vErrors.push(err241);
}
errors++;
}
}
}
else {
const err242 = {instancePath:instancePath+"/spec/guardrails/input/" + i9,schemaPath:"#/properties/spec/properties/guardrails/properties/input/items/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err242];
}
else {
vErrors.push(err242);
}
errors++;
}
}
}
else {
const err243 = {instancePath:instancePath+"/spec/guardrails/input",schemaPath:"#/properties/spec/properties/guardrails/properties/input/type",keyword:"type",params:{type: "array"}};
if(vErrors === null){
vErrors = [err243];
}
else {
vErrors.push(err243);
}
errors++;
}
}
if(data109.output !== undefined){
let data124 = data109.output;
if(Array.isArray(data124)){
const len12 = data124.length;
for(let i12=0; i12<len12; i12++){
let data125 = data124[i12];
if(data125 && typeof data125 == "object" && !Array.isArray(data125)){
if(data125.type === undefined){
const err244 = {instancePath:instancePath+"/spec/guardrails/output/" + i12,schemaPath:"#/properties/spec/properties/guardrails/properties/output/items/required",keyword:"required",params:{missingProperty: "type"}};
if(vErrors === null){
vErrors = [err244];
}
else {
vErrors.push(err244);
}
errors++;
}
for(const key25 in data125){
if(!((func1.call(schema31.properties.spec.properties.guardrails.properties.output.items.properties, key25)) || (pattern4.test(key25)))){
const err245 = {instancePath:instancePath+"/spec/guardrails/output/" + i12,schemaPath:"#/properties/spec/properties/guardrails/properties/output/items/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key25}};
if(vErrors === null){
vErrors = [err245];
}
else {
vErrors.push(err245);
}
errors++;
}
}
if(data125.type !== undefined){
let data126 = data125.type;
if(typeof data126 !== "string"){
const err246 = {instancePath:instancePath+"/spec/guardrails/output/" + i12+"/type",schemaPath:"#/properties/spec/properties/guardrails/properties/output/items/properties/type/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err246];
}
else {
vErrors.push(err246);
}
errors++;
}
if(!((((((data126 === "topic-filter") || (data126 === "pii-detector")) || (data126 === "prompt-injection")) || (data126 === "hallucination-detector")) || (data126 === "toxicity-filter")) || (data126 === "custom"))){
const err247 = {instancePath:instancePath+"/spec/guardrails/output/" + i12+"/type",schemaPath:"#/properties/spec/properties/guardrails/properties/output/items/properties/type/enum",keyword:"enum",params:{allowedValues: schema31.properties.spec.properties.guardrails.properties.output.items.properties.type.enum}};
if(vErrors === null){
vErrors = [err247];
}
else {
vErrors.push(err247);
}
errors++;
}
}
if(data125.action !== undefined){
if(typeof data125.action !== "string"){
const err248 = {instancePath:instancePath+"/spec/guardrails/output/" + i12+"/action",schemaPath:"#/properties/spec/properties/guardrails/properties/output/items/properties/action/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err248];
}
else {
vErrors.push(err248);
}
errors++;
}
}
if(data125.threshold !== undefined){
let data128 = data125.threshold;
if((typeof data128 == "number") && (isFinite(data128))){
if(data128 > 1 || isNaN(data128)){
const err249 = {instancePath:instancePath+"/spec/guardrails/output/" + i12+"/threshold",schemaPath:"#/properties/spec/properties/guardrails/properties/output/items/properties/threshold/maximum",keyword:"maximum",params:{comparison: "<=", limit: 1}};
if(vErrors === null){
vErrors = [err249];
}
else {
vErrors.push(err249);
}
errors++;
}
if(data128 < 0 || isNaN(data128)){
const err250 = {instancePath:instancePath+"/spec/guardrails/output/" + i12+"/threshold",schemaPath:"#/properties/spec/properties/guardrails/properties/output/items/properties/threshold/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0}};
if(vErrors === null){
vErrors = [err250];
}
else {
vErrors.push(err250);
}
errors++;
}
}
else {
const err251 = {instancePath:instancePath+"/spec/guardrails/output/" + i12+"/threshold",schemaPath:"#/properties/spec/properties/guardrails/properties/output/items/properties/threshold/type",keyword:"type",params:{type: "number"}};
if(vErrors === null){
vErrors = [err251];
}
else {
vErrors.push(err251);
}
errors++;
}
}
if(data125.blockedTopics !== undefined){
let data129 = data125.blockedTopics;
if(Array.isArray(data129)){
const len13 = data129.length;
for(let i13=0; i13<len13; i13++){
if(typeof data129[i13] !== "string"){
const err252 = {instancePath:instancePath+"/spec/guardrails/output/" + i12+"/blockedTopics/" + i13,schemaPath:"#/properties/spec/properties/guardrails/properties/output/items/properties/blockedTopics/items/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err252];
}
else {
vErrors.push(err252);
}
errors++;
}
}
}
else {
const err253 = {instancePath:instancePath+"/spec/guardrails/output/" + i12+"/blockedTopics",schemaPath:"#/properties/spec/properties/guardrails/properties/output/items/properties/blockedTopics/type",keyword:"type",params:{type: "array"}};
if(vErrors === null){
vErrors = [err253];
}
else {
vErrors.push(err253);
}
errors++;
}
}
if(data125.fields !== undefined){
let data131 = data125.fields;
if(Array.isArray(data131)){
const len14 = data131.length;
for(let i14=0; i14<len14; i14++){
if(typeof data131[i14] !== "string"){
const err254 = {instancePath:instancePath+"/spec/guardrails/output/" + i12+"/fields/" + i14,schemaPath:"#/properties/spec/properties/guardrails/properties/output/items/properties/fields/items/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err254];
}
else {
vErrors.push(err254);
}
errors++;
}
}
}
else {
const err255 = {instancePath:instancePath+"/spec/guardrails/output/" + i12+"/fields",schemaPath:"#/properties/spec/properties/guardrails/properties/output/items/properties/fields/type",keyword:"type",params:{type: "array"}};
if(vErrors === null){
vErrors = [err255];
}
else {
vErrors.push(err255);
}
errors++;
}
}
if(data125.sensitivity !== undefined){
if(typeof data125.sensitivity !== "string"){
const err256 = {instancePath:instancePath+"/spec/guardrails/output/" + i12+"/sensitivity",schemaPath:"#/properties/spec/properties/guardrails/properties/output/items/properties/sensitivity/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err256];
}
else {
vErrors.push(err256);
}
errors++;
}
}
if(data125.module !== undefined){
if(typeof data125.module !== "string"){
const err257 = {instancePath:instancePath+"/spec/guardrails/output/" + i12+"/module",schemaPath:"#/properties/spec/properties/guardrails/properties/output/items/properties/module/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err257];
}
else {
vErrors.push(err257);
}
errors++;
}
}
if(data125.function !== undefined){
if(typeof data125.function !== "string"){
const err258 = {instancePath:instancePath+"/spec/guardrails/output/" + i12+"/function",schemaPath:"#/properties/spec/properties/guardrails/properties/output/items/properties/function/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err258];
}
else {
vErrors.push(err258);
}
errors++;
}
}
if(data125.maxRetries !== undefined){
let data136 = data125.maxRetries;
if(!(((typeof data136 == "number") && (!(data136 % 1) && !isNaN(data136))) && (isFinite(data136)))){
const err259 = {instancePath:instancePath+"/spec/guardrails/output/" + i12+"/maxRetries",schemaPath:"#/properties/spec/properties/guardrails/properties/output/items/properties/maxRetries/type",keyword:"type",params:{type: "integer"}};
if(vErrors === null){
vErrors = [err259];
}
else {
vErrors.push(err259);
}
errors++;
}
if((typeof data136 == "number") && (isFinite(data136))){
if(data136 < 0 || isNaN(data136)){
const err260 = {instancePath:instancePath+"/spec/guardrails/output/" + i12+"/maxRetries",schemaPath:"#/properties/spec/properties/guardrails/properties/output/items/properties/maxRetries/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0}};
if(vErrors === null){
vErrors = [err260];
}
else {
vErrors.push(err260);
}
errors++;
}
}
}
if(data125.message !== undefined){
if(typeof data125.message !== "string"){
const err261 = {instancePath:instancePath+"/spec/guardrails/output/" + i12+"/message",schemaPath:"#/properties/spec/properties/guardrails/properties/output/items/properties/message/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err261];
}
else {
vErrors.push(err261);
}
errors++;
}
}
}
else {
const err262 = {instancePath:instancePath+"/spec/guardrails/output/" + i12,schemaPath:"#/properties/spec/properties/guardrails/properties/output/items/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err262];
}
else {
vErrors.push(err262);
}
errors++;
}
}
}
else {
const err263 = {instancePath:instancePath+"/spec/guardrails/output",schemaPath:"#/properties/spec/properties/guardrails/properties/output/type",keyword:"type",params:{type: "array"}};
if(vErrors === null){
vErrors = [err263];
}
else {
vErrors.push(err263);
}
errors++;
}
}
}
else {
const err264 = {instancePath:instancePath+"/spec/guardrails",schemaPath:"#/properties/spec/properties/guardrails/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err264];
}
else {
vErrors.push(err264);
}
errors++;
}
}
if(data10.evaluation !== undefined){
let data138 = data10.evaluation;
if(data138 && typeof data138 == "object" && !Array.isArray(data138)){
for(const key26 in data138){
if(!((((((key26 === "framework") || (key26 === "datasets")) || (key26 === "metrics")) || (key26 === "thresholds")) || (key26 === "ciGate")) || (pattern4.test(key26)))){
const err265 = {instancePath:instancePath+"/spec/evaluation",schemaPath:"#/properties/spec/properties/evaluation/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key26}};
if(vErrors === null){
vErrors = [err265];
}
else {
vErrors.push(err265);
}
errors++;
}
}
if(data138.framework !== undefined){
if(typeof data138.framework !== "string"){
const err266 = {instancePath:instancePath+"/spec/evaluation/framework",schemaPath:"#/properties/spec/properties/evaluation/properties/framework/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err266];
}
else {
vErrors.push(err266);
}
errors++;
}
}
if(data138.datasets !== undefined){
let data140 = data138.datasets;
if(Array.isArray(data140)){
const len15 = data140.length;
for(let i15=0; i15<len15; i15++){
let data141 = data140[i15];
if(data141 && typeof data141 == "object" && !Array.isArray(data141)){
if(data141.name === undefined){
const err267 = {instancePath:instancePath+"/spec/evaluation/datasets/" + i15,schemaPath:"#/properties/spec/properties/evaluation/properties/datasets/items/required",keyword:"required",params:{missingProperty: "name"}};
if(vErrors === null){
vErrors = [err267];
}
else {
vErrors.push(err267);
}
errors++;
}
if(data141.path === undefined){
const err268 = {instancePath:instancePath+"/spec/evaluation/datasets/" + i15,schemaPath:"#/properties/spec/properties/evaluation/properties/datasets/items/required",keyword:"required",params:{missingProperty: "path"}};
if(vErrors === null){
vErrors = [err268];
}
else {
vErrors.push(err268);
}
errors++;
}
for(const key27 in data141){
if(!((((key27 === "name") || (key27 === "path")) || (key27 === "metrics")) || (pattern4.test(key27)))){
const err269 = {instancePath:instancePath+"/spec/evaluation/datasets/" + i15,schemaPath:"#/properties/spec/properties/evaluation/properties/datasets/items/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key27}};
if(vErrors === null){
vErrors = [err269];
}
else {
vErrors.push(err269);
}
errors++;
}
}
if(data141.name !== undefined){
let data142 = data141.name;
if(typeof data142 === "string"){
if(data142.length < 1){
const err270 = {instancePath:instancePath+"/spec/evaluation/datasets/" + i15+"/name",schemaPath:"#/properties/spec/properties/evaluation/properties/datasets/items/properties/name/minLength",keyword:"minLength",params:{limit: 1}};
if(vErrors === null){
vErrors = [err270];
}
else {
vErrors.push(err270);
}
errors++;
}
}
else {
const err271 = {instancePath:instancePath+"/spec/evaluation/datasets/" + i15+"/name",schemaPath:"#/properties/spec/properties/evaluation/properties/datasets/items/properties/name/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err271];
}
else {
vErrors.push(err271);
}
errors++;
}
}
if(data141.path !== undefined){
let data143 = data141.path;
if(typeof data143 === "string"){
if(data143.length < 1){
const err272 = {instancePath:instancePath+"/spec/evaluation/datasets/" + i15+"/path",schemaPath:"#/properties/spec/properties/evaluation/properties/datasets/items/properties/path/minLength",keyword:"minLength",params:{limit: 1}};
if(vErrors === null){
vErrors = [err272];
}
else {
vErrors.push(err272);
}
errors++;
}
}
else {
const err273 = {instancePath:instancePath+"/spec/evaluation/datasets/" + i15+"/path",schemaPath:"#/properties/spec/properties/evaluation/properties/datasets/items/properties/path/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err273];
}
else {
vErrors.push(err273);
}
errors++;
}
}
if(data141.metrics !== undefined){
let data144 = data141.metrics;
if(Array.isArray(data144)){
const len16 = data144.length;
for(let i16=0; i16<len16; i16++){
if(typeof data144[i16] !== "string"){
const err274 = {instancePath:instancePath+"/spec/evaluation/datasets/" + i15+"/metrics/" + i16,schemaPath:"#/properties/spec/properties/evaluation/properties/datasets/items/properties/metrics/items/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err274];
}
else {
vErrors.push(err274);
}
errors++;
}
}
}
else {
const err275 = {instancePath:instancePath+"/spec/evaluation/datasets/" + i15+"/metrics",schemaPath:"#/properties/spec/properties/evaluation/properties/datasets/items/properties/metrics/type",keyword:"type",params:{type: "array"}};
if(vErrors === null){
vErrors = [err275];
}
else {
vErrors.push(err275);
}
errors++;
}
}
}
else {
const err276 = {instancePath:instancePath+"/spec/evaluation/datasets/" + i15,schemaPath:"#/properties/spec/properties/evaluation/properties/datasets/items/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err276];
}
else {
vErrors.push(err276);
}
errors++;
}
}
}
else {
const err277 = {instancePath:instancePath+"/spec/evaluation/datasets",schemaPath:"#/properties/spec/properties/evaluation/properties/datasets/type",keyword:"type",params:{type: "array"}};
if(vErrors === null){
vErrors = [err277];
}
else {
vErrors.push(err277);
}
errors++;
}
}
if(data138.metrics !== undefined){
let data146 = data138.metrics;
if(Array.isArray(data146)){
const len17 = data146.length;
for(let i17=0; i17<len17; i17++){
if(typeof data146[i17] !== "string"){
const err278 = {instancePath:instancePath+"/spec/evaluation/metrics/" + i17,schemaPath:"#/properties/spec/properties/evaluation/properties/metrics/items/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err278];
}
else {
vErrors.push(err278);
}
errors++;
}
}
}
else {
const err279 = {instancePath:instancePath+"/spec/evaluation/metrics",schemaPath:"#/properties/spec/properties/evaluation/properties/metrics/type",keyword:"type",params:{type: "array"}};
if(vErrors === null){
vErrors = [err279];
}
else {
vErrors.push(err279);
}
errors++;
}
}
if(data138.thresholds !== undefined){
let data148 = data138.thresholds;
if(data148 && typeof data148 == "object" && !Array.isArray(data148)){
for(const key28 in data148){
let data149 = data148[key28];
if((typeof data149 == "number") && (isFinite(data149))){
if(data149 > 1 || isNaN(data149)){
const err280 = {instancePath:instancePath+"/spec/evaluation/thresholds/" + key28.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/properties/spec/properties/evaluation/properties/thresholds/additionalProperties/maximum",keyword:"maximum",params:{comparison: "<=", limit: 1}};
if(vErrors === null){
vErrors = [err280];
}
else {
vErrors.push(err280);
}
errors++;
}
if(data149 < 0 || isNaN(data149)){
const err281 = {instancePath:instancePath+"/spec/evaluation/thresholds/" + key28.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/properties/spec/properties/evaluation/properties/thresholds/additionalProperties/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0}};
if(vErrors === null){
vErrors = [err281];
}
else {
vErrors.push(err281);
}
errors++;
}
}
else {
const err282 = {instancePath:instancePath+"/spec/evaluation/thresholds/" + key28.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/properties/spec/properties/evaluation/properties/thresholds/additionalProperties/type",keyword:"type",params:{type: "number"}};
if(vErrors === null){
vErrors = [err282];
}
else {
vErrors.push(err282);
}
errors++;
}
}
}
else {
const err283 = {instancePath:instancePath+"/spec/evaluation/thresholds",schemaPath:"#/properties/spec/properties/evaluation/properties/thresholds/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err283];
}
else {
vErrors.push(err283);
}
errors++;
}
}
if(data138.ciGate !== undefined){
if(typeof data138.ciGate !== "boolean"){
const err284 = {instancePath:instancePath+"/spec/evaluation/ciGate",schemaPath:"#/properties/spec/properties/evaluation/properties/ciGate/type",keyword:"type",params:{type: "boolean"}};
if(vErrors === null){
vErrors = [err284];
}
else {
vErrors.push(err284);
}
errors++;
}
}
}
else {
const err285 = {instancePath:instancePath+"/spec/evaluation",schemaPath:"#/properties/spec/properties/evaluation/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err285];
}
else {
vErrors.push(err285);
}
errors++;
}
}
if(data10.observability !== undefined){
let data151 = data10.observability;
if(data151 && typeof data151 == "object" && !Array.isArray(data151)){
for(const key29 in data151){
if(!((((key29 === "tracing") || (key29 === "metrics")) || (key29 === "logging")) || (pattern4.test(key29)))){
const err286 = {instancePath:instancePath+"/spec/observability",schemaPath:"#/properties/spec/properties/observability/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key29}};
if(vErrors === null){
vErrors = [err286];
}
else {
vErrors.push(err286);
}
errors++;
}
}
if(data151.tracing !== undefined){
let data152 = data151.tracing;
if(data152 && typeof data152 == "object" && !Array.isArray(data152)){
if(data152.backend === undefined){
const err287 = {instancePath:instancePath+"/spec/observability/tracing",schemaPath:"#/properties/spec/properties/observability/properties/tracing/required",keyword:"required",params:{missingProperty: "backend"}};
if(vErrors === null){
vErrors = [err287];
}
else {
vErrors.push(err287);
}
errors++;
}
for(const key30 in data152){
if(!((((((key30 === "backend") || (key30 === "endpoint")) || (key30 === "publicKey")) || (key30 === "secretKey")) || (key30 === "sampleRate")) || (pattern4.test(key30)))){
const err288 = {instancePath:instancePath+"/spec/observability/tracing",schemaPath:"#/properties/spec/properties/observability/properties/tracing/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key30}};
if(vErrors === null){
vErrors = [err288];
}
else {
vErrors.push(err288);
}
errors++;
}
}
if(data152.backend !== undefined){
let data153 = data152.backend;
if(typeof data153 === "string"){
if(data153.length < 1){
const err289 = {instancePath:instancePath+"/spec/observability/tracing/backend",schemaPath:"#/properties/spec/properties/observability/properties/tracing/properties/backend/minLength",keyword:"minLength",params:{limit: 1}};
if(vErrors === null){
vErrors = [err289];
}
else {
vErrors.push(err289);
}
errors++;
}
}
else {
const err290 = {instancePath:instancePath+"/spec/observability/tracing/backend",schemaPath:"#/properties/spec/properties/observability/properties/tracing/properties/backend/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err290];
}
else {
vErrors.push(err290);
}
errors++;
}
}
if(data152.endpoint !== undefined){
if(typeof data152.endpoint !== "string"){
const err291 = {instancePath:instancePath+"/spec/observability/tracing/endpoint",schemaPath:"#/properties/spec/properties/observability/properties/tracing/properties/endpoint/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err291];
}
else {
vErrors.push(err291);
}
errors++;
}
}
if(data152.publicKey !== undefined){
if(typeof data152.publicKey !== "string"){
const err292 = {instancePath:instancePath+"/spec/observability/tracing/publicKey",schemaPath:"#/properties/spec/properties/observability/properties/tracing/properties/publicKey/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err292];
}
else {
vErrors.push(err292);
}
errors++;
}
}
if(data152.secretKey !== undefined){
let data156 = data152.secretKey;
if(typeof data156 === "string"){
if(data156.length < 1){
const err293 = {instancePath:instancePath+"/spec/observability/tracing/secretKey",schemaPath:"#/properties/spec/properties/observability/properties/tracing/properties/secretKey/minLength",keyword:"minLength",params:{limit: 1}};
if(vErrors === null){
vErrors = [err293];
}
else {
vErrors.push(err293);
}
errors++;
}
}
else {
const err294 = {instancePath:instancePath+"/spec/observability/tracing/secretKey",schemaPath:"#/properties/spec/properties/observability/properties/tracing/properties/secretKey/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err294];
}
else {
vErrors.push(err294);
}
errors++;
}
}
if(data152.sampleRate !== undefined){
let data157 = data152.sampleRate;
if((typeof data157 == "number") && (isFinite(data157))){
if(data157 > 1 || isNaN(data157)){
const err295 = {instancePath:instancePath+"/spec/observability/tracing/sampleRate",schemaPath:"#/properties/spec/properties/observability/properties/tracing/properties/sampleRate/maximum",keyword:"maximum",params:{comparison: "<=", limit: 1}};
if(vErrors === null){
vErrors = [err295];
}
else {
vErrors.push(err295);
}
errors++;
}
if(data157 < 0 || isNaN(data157)){
const err296 = {instancePath:instancePath+"/spec/observability/tracing/sampleRate",schemaPath:"#/properties/spec/properties/observability/properties/tracing/properties/sampleRate/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0}};
if(vErrors === null){
vErrors = [err296];
}
else {
vErrors.push(err296);
}
errors++;
}
}
else {
const err297 = {instancePath:instancePath+"/spec/observability/tracing/sampleRate",schemaPath:"#/properties/spec/properties/observability/properties/tracing/properties/sampleRate/type",keyword:"type",params:{type: "number"}};
if(vErrors === null){
vErrors = [err297];
}
else {
vErrors.push(err297);
}
errors++;
}
}
}
else {
const err298 = {instancePath:instancePath+"/spec/observability/tracing",schemaPath:"#/properties/spec/properties/observability/properties/tracing/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err298];
}
else {
vErrors.push(err298);
}
errors++;
}
}
if(data151.metrics !== undefined){
let data158 = data151.metrics;
if(data158 && typeof data158 == "object" && !Array.isArray(data158)){
if(data158.backend === undefined){
const err299 = {instancePath:instancePath+"/spec/observability/metrics",schemaPath:"#/properties/spec/properties/observability/properties/metrics/required",keyword:"required",params:{missingProperty: "backend"}};
if(vErrors === null){
vErrors = [err299];
}
else {
vErrors.push(err299);
}
errors++;
}
for(const key31 in data158){
if(!((((key31 === "backend") || (key31 === "endpoint")) || (key31 === "serviceName")) || (pattern4.test(key31)))){
const err300 = {instancePath:instancePath+"/spec/observability/metrics",schemaPath:"#/properties/spec/properties/observability/properties/metrics/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key31}};
if(vErrors === null){
vErrors = [err300];
}
else {
vErrors.push(err300);
}
errors++;
}
}
if(data158.backend !== undefined){
let data159 = data158.backend;
if(typeof data159 === "string"){
if(data159.length < 1){
const err301 = {instancePath:instancePath+"/spec/observability/metrics/backend",schemaPath:"#/properties/spec/properties/observability/properties/metrics/properties/backend/minLength",keyword:"minLength",params:{limit: 1}};
if(vErrors === null){
vErrors = [err301];
}
else {
vErrors.push(err301);
}
errors++;
}
}
else {
const err302 = {instancePath:instancePath+"/spec/observability/metrics/backend",schemaPath:"#/properties/spec/properties/observability/properties/metrics/properties/backend/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err302];
}
else {
vErrors.push(err302);
}
errors++;
}
}
if(data158.endpoint !== undefined){
if(typeof data158.endpoint !== "string"){
const err303 = {instancePath:instancePath+"/spec/observability/metrics/endpoint",schemaPath:"#/properties/spec/properties/observability/properties/metrics/properties/endpoint/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err303];
}
else {
vErrors.push(err303);
}
errors++;
}
}
if(data158.serviceName !== undefined){
if(typeof data158.serviceName !== "string"){
const err304 = {instancePath:instancePath+"/spec/observability/metrics/serviceName",schemaPath:"#/properties/spec/properties/observability/properties/metrics/properties/serviceName/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err304];
}
else {
vErrors.push(err304);
}
errors++;
}
}
}
else {
const err305 = {instancePath:instancePath+"/spec/observability/metrics",schemaPath:"#/properties/spec/properties/observability/properties/metrics/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err305];
}
else {
vErrors.push(err305);
}
errors++;
}
}
if(data151.logging !== undefined){
let data162 = data151.logging;
if(data162 && typeof data162 == "object" && !Array.isArray(data162)){
for(const key32 in data162){
if(!((((key32 === "level") || (key32 === "structured")) || (key32 === "redactFields")) || (pattern4.test(key32)))){
const err306 = {instancePath:instancePath+"/spec/observability/logging",schemaPath:"#/properties/spec/properties/observability/properties/logging/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key32}};
if(vErrors === null){
vErrors = [err306];
}
else {
vErrors.push(err306);
}
errors++;
}
}
if(data162.level !== undefined){
if(typeof data162.level !== "string"){
const err307 = {instancePath:instancePath+"/spec/observability/logging/level",schemaPath:"#/properties/spec/properties/observability/properties/logging/properties/level/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err307];
}
else {
vErrors.push(err307);
}
errors++;
}
}
if(data162.structured !== undefined){
if(typeof data162.structured !== "boolean"){
const err308 = {instancePath:instancePath+"/spec/observability/logging/structured",schemaPath:"#/properties/spec/properties/observability/properties/logging/properties/structured/type",keyword:"type",params:{type: "boolean"}};
if(vErrors === null){
vErrors = [err308];
}
else {
vErrors.push(err308);
}
errors++;
}
}
if(data162.redactFields !== undefined){
let data165 = data162.redactFields;
if(Array.isArray(data165)){
const len18 = data165.length;
for(let i18=0; i18<len18; i18++){
if(typeof data165[i18] !== "string"){
const err309 = {instancePath:instancePath+"/spec/observability/logging/redactFields/" + i18,schemaPath:"#/properties/spec/properties/observability/properties/logging/properties/redactFields/items/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err309];
}
else {
vErrors.push(err309);
}
errors++;
}
}
}
else {
const err310 = {instancePath:instancePath+"/spec/observability/logging/redactFields",schemaPath:"#/properties/spec/properties/observability/properties/logging/properties/redactFields/type",keyword:"type",params:{type: "array"}};
if(vErrors === null){
vErrors = [err310];
}
else {
vErrors.push(err310);
}
errors++;
}
}
}
else {
const err311 = {instancePath:instancePath+"/spec/observability/logging",schemaPath:"#/properties/spec/properties/observability/properties/logging/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err311];
}
else {
vErrors.push(err311);
}
errors++;
}
}
}
else {
const err312 = {instancePath:instancePath+"/spec/observability",schemaPath:"#/properties/spec/properties/observability/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err312];
}
else {
vErrors.push(err312);
}
errors++;
}
}
if(data10.compliance !== undefined){
let data167 = data10.compliance;
if(data167 && typeof data167 == "object" && !Array.isArray(data167)){
for(const key33 in data167){
if(!((((key33 === "packs") || (key33 === "suppressions")) || (key33 === "auditSchedule")) || (pattern4.test(key33)))){
const err313 = {instancePath:instancePath+"/spec/compliance",schemaPath:"#/properties/spec/properties/compliance/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key33}};
if(vErrors === null){
vErrors = [err313];
}
else {
vErrors.push(err313);
}
errors++;
}
}
if(data167.packs !== undefined){
let data168 = data167.packs;
if(Array.isArray(data168)){
const len19 = data168.length;
for(let i19=0; i19<len19; i19++){
let data169 = data168[i19];
if(typeof data169 !== "string"){
const err314 = {instancePath:instancePath+"/spec/compliance/packs/" + i19,schemaPath:"#/properties/spec/properties/compliance/properties/packs/items/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err314];
}
else {
vErrors.push(err314);
}
errors++;
}
if(!((((((data169 === "owasp-llm-top10") || (data169 === "model-resilience")) || (data169 === "memory-hygiene")) || (data169 === "evaluation-coverage")) || (data169 === "observability")) || (data169 === "metadata-quality"))){
const err315 = {instancePath:instancePath+"/spec/compliance/packs/" + i19,schemaPath:"#/properties/spec/properties/compliance/properties/packs/items/enum",keyword:"enum",params:{allowedValues: schema31.properties.spec.properties.compliance.properties.packs.items.enum}};
if(vErrors === null){
vErrors = [err315];
}
else {
vErrors.push(err315);
}
errors++;
}
}
}
else {
const err316 = {instancePath:instancePath+"/spec/compliance/packs",schemaPath:"#/properties/spec/properties/compliance/properties/packs/type",keyword:"type",params:{type: "array"}};
if(vErrors === null){
vErrors = [err316];
}
else {
vErrors.push(err316);
}
errors++;
}
}
if(data167.suppressions !== undefined){
let data170 = data167.suppressions;
if(Array.isArray(data170)){
const len20 = data170.length;
for(let i20=0; i20<len20; i20++){
let data171 = data170[i20];
if(data171 && typeof data171 == "object" && !Array.isArray(data171)){
if(data171.rule === undefined){
const err317 = {instancePath:instancePath+"/spec/compliance/suppressions/" + i20,schemaPath:"#/properties/spec/properties/compliance/properties/suppressions/items/required",keyword:"required",params:{missingProperty: "rule"}};
if(vErrors === null){
vErrors = [err317];
}
else {
vErrors.push(err317);
}
errors++;
}
if(data171.reason === undefined){
const err318 = {instancePath:instancePath+"/spec/compliance/suppressions/" + i20,schemaPath:"#/properties/spec/properties/compliance/properties/suppressions/items/required",keyword:"required",params:{missingProperty: "reason"}};
if(vErrors === null){
vErrors = [err318];
}
else {
vErrors.push(err318);
}
errors++;
}
for(const key34 in data171){
if(!(((((key34 === "rule") || (key34 === "reason")) || (key34 === "approvedBy")) || (key34 === "expires")) || (pattern4.test(key34)))){
const err319 = {instancePath:instancePath+"/spec/compliance/suppressions/" + i20,schemaPath:"#/properties/spec/properties/compliance/properties/suppressions/items/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key34}};
if(vErrors === null){
vErrors = [err319];
}
else {
vErrors.push(err319);
}
errors++;
}
}
if(data171.rule !== undefined){
let data172 = data171.rule;
if(typeof data172 === "string"){
if(data172.length < 1){
const err320 = {instancePath:instancePath+"/spec/compliance/suppressions/" + i20+"/rule",schemaPath:"#/properties/spec/properties/compliance/properties/suppressions/items/properties/rule/minLength",keyword:"minLength",params:{limit: 1}};
if(vErrors === null){
vErrors = [err320];
}
else {
vErrors.push(err320);
}
errors++;
}
}
else {
const err321 = {instancePath:instancePath+"/spec/compliance/suppressions/" + i20+"/rule",schemaPath:"#/properties/spec/properties/compliance/properties/suppressions/items/properties/rule/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err321];
}
else {
vErrors.push(err321);
}
errors++;
}
}
if(data171.reason !== undefined){
let data173 = data171.reason;
if(typeof data173 === "string"){
if(data173.length < 1){
const err322 = {instancePath:instancePath+"/spec/compliance/suppressions/" + i20+"/reason",schemaPath:"#/properties/spec/properties/compliance/properties/suppressions/items/properties/reason/minLength",keyword:"minLength",params:{limit: 1}};
if(vErrors === null){
vErrors = [err322];
}
else {
vErrors.push(err322);
}
errors++;
}
}
else {
const err323 = {instancePath:instancePath+"/spec/compliance/suppressions/" + i20+"/reason",schemaPath:"#/properties/spec/properties/compliance/properties/suppressions/items/properties/reason/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err323];
}
else {
vErrors.push(err323);
}
errors++;
}
}
if(data171.approvedBy !== undefined){
if(typeof data171.approvedBy !== "string"){
const err324 = {instancePath:instancePath+"/spec/compliance/suppressions/" + i20+"/approvedBy",schemaPath:"#/properties/spec/properties/compliance/properties/suppressions/items/properties/approvedBy/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err324];
}
else {
vErrors.push(err324);
}
errors++;
}
}
if(data171.expires !== undefined){
let data175 = data171.expires;
if(typeof data175 !== "string"){
const err325 = {instancePath:instancePath+"/spec/compliance/suppressions/" + i20+"/expires",schemaPath:"#/properties/spec/properties/compliance/properties/suppressions/items/properties/expires/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err325];
}
else {
vErrors.push(err325);
}
errors++;
}
const _errs415 = errors;
let valid88 = true;
const _errs416 = errors;
if(typeof data175 === "string"){
if(!pattern7.test(data175)){
const err326 = {};
if(vErrors === null){
vErrors = [err326];
}
else {
vErrors.push(err326);
}
errors++;
}
}
var _valid9 = _errs416 === errors;
errors = _errs415;
if(vErrors !== null){
if(_errs415){
vErrors.length = _errs415;
}
else {
vErrors = null;
}
}
if(!_valid9){
const _errs417 = errors;
if(typeof data175 === "string"){
if(!pattern46.test(data175)){
const err327 = {instancePath:instancePath+"/spec/compliance/suppressions/" + i20+"/expires",schemaPath:"#/properties/spec/properties/compliance/properties/suppressions/items/properties/expires/else/pattern",keyword:"pattern",params:{pattern: "^\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\\d|3[01])(?:T\\d{2}:\\d{2}(?::\\d{2}(?:\\.\\d+)?)?(?:Z|[+-]\\d{2}:\\d{2}))?$"}};
if(vErrors === null){
vErrors = [err327];
}
else {
vErrors.push(err327);
}
errors++;
}
}
var _valid9 = _errs417 === errors;
valid88 = _valid9;
}
if(!valid88){
const err328 = {instancePath:instancePath+"/spec/compliance/suppressions/" + i20+"/expires",schemaPath:"#/properties/spec/properties/compliance/properties/suppressions/items/properties/expires/if",keyword:"if",params:{failingKeyword: "else"}};
if(vErrors === null){
vErrors = [err328];
}
else {
vErrors.push(err328);
}
errors++;
}
}
}
else {
const err329 = {instancePath:instancePath+"/spec/compliance/suppressions/" + i20,schemaPath:"#/properties/spec/properties/compliance/properties/suppressions/items/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err329];
}
else {
vErrors.push(err329);
}
errors++;
}
}
}
else {
const err330 = {instancePath:instancePath+"/spec/compliance/suppressions",schemaPath:"#/properties/spec/properties/compliance/properties/suppressions/type",keyword:"type",params:{type: "array"}};
if(vErrors === null){
vErrors = [err330];
}
else {
vErrors.push(err330);
}
errors++;
}
}
if(data167.auditSchedule !== undefined){
if(typeof data167.auditSchedule !== "string"){
const err331 = {instancePath:instancePath+"/spec/compliance/auditSchedule",schemaPath:"#/properties/spec/properties/compliance/properties/auditSchedule/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err331];
}
else {
vErrors.push(err331);
}
errors++;
}
}
}
else {
const err332 = {instancePath:instancePath+"/spec/compliance",schemaPath:"#/properties/spec/properties/compliance/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err332];
}
else {
vErrors.push(err332);
}
errors++;
}
}
if(data10.api !== undefined){
let data177 = data10.api;
const _errs422 = errors;
let valid89 = true;
const _errs423 = errors;
if(data177 && typeof data177 == "object" && !Array.isArray(data177)){
let missing2;
if((data177.a2a === undefined) && (missing2 = "a2a")){
const err333 = {};
if(vErrors === null){
vErrors = [err333];
}
else {
vErrors.push(err333);
}
errors++;
}
}
var _valid10 = _errs423 === errors;
errors = _errs422;
if(vErrors !== null){
if(_errs422){
vErrors.length = _errs422;
}
else {
vErrors = null;
}
}
if(_valid10){
const _errs424 = errors;
const _errs425 = errors;
let valid90 = false;
const _errs426 = errors;
if(data177 && typeof data177 == "object" && !Array.isArray(data177)){
if(data177.url === undefined){
const err334 = {instancePath:instancePath+"/spec/api",schemaPath:"#/properties/spec/properties/api/then/anyOf/0/required",keyword:"required",params:{missingProperty: "url"}};
if(vErrors === null){
vErrors = [err334];
}
else {
vErrors.push(err334);
}
errors++;
}
}
var _valid11 = _errs426 === errors;
valid90 = valid90 || _valid11;
if(!valid90){
const err335 = {instancePath:instancePath+"/spec/api",schemaPath:"#/properties/spec/properties/api/then/anyOf",keyword:"anyOf",params:{}};
if(vErrors === null){
vErrors = [err335];
}
else {
vErrors.push(err335);
}
errors++;
}
else {
errors = _errs425;
if(vErrors !== null){
if(_errs425){
vErrors.length = _errs425;
}
else {
vErrors = null;
}
}
}
var _valid10 = _errs424 === errors;
valid89 = _valid10;
}
if(!valid89){
const err336 = {instancePath:instancePath+"/spec/api",schemaPath:"#/properties/spec/properties/api/if",keyword:"if",params:{failingKeyword: "then"}};
if(vErrors === null){
vErrors = [err336];
}
else {
vErrors.push(err336);
}
errors++;
}
if(data177 && typeof data177 == "object" && !Array.isArray(data177)){
for(const key35 in data177){
if(!((func1.call(schema31.properties.spec.properties.api.properties, key35)) || (pattern4.test(key35)))){
const err337 = {instancePath:instancePath+"/spec/api",schemaPath:"#/properties/spec/properties/api/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key35}};
if(vErrors === null){
vErrors = [err337];
}
else {
vErrors.push(err337);
}
errors++;
}
}
if(data177.type !== undefined){
let data178 = data177.type;
if(typeof data178 !== "string"){
const err338 = {instancePath:instancePath+"/spec/api/type",schemaPath:"#/properties/spec/properties/api/properties/type/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err338];
}
else {
vErrors.push(err338);
}
errors++;
}
if(!(((data178 === "rest") || (data178 === "mcp")) || (data178 === "websocket"))){
const err339 = {instancePath:instancePath+"/spec/api/type",schemaPath:"#/properties/spec/properties/api/properties/type/enum",keyword:"enum",params:{allowedValues: schema31.properties.spec.properties.api.properties.type.enum}};
if(vErrors === null){
vErrors = [err339];
}
else {
vErrors.push(err339);
}
errors++;
}
}
if(data177.port !== undefined){
let data179 = data177.port;
if(!(((typeof data179 == "number") && (!(data179 % 1) && !isNaN(data179))) && (isFinite(data179)))){
const err340 = {instancePath:instancePath+"/spec/api/port",schemaPath:"#/properties/spec/properties/api/properties/port/type",keyword:"type",params:{type: "integer"}};
if(vErrors === null){
vErrors = [err340];
}
else {
vErrors.push(err340);
}
errors++;
}
if((typeof data179 == "number") && (isFinite(data179))){
if(data179 > 65535 || isNaN(data179)){
const err341 = {instancePath:instancePath+"/spec/api/port",schemaPath:"#/properties/spec/properties/api/properties/port/maximum",keyword:"maximum",params:{comparison: "<=", limit: 65535}};
if(vErrors === null){
vErrors = [err341];
}
else {
vErrors.push(err341);
}
errors++;
}
if(data179 < 1 || isNaN(data179)){
const err342 = {instancePath:instancePath+"/spec/api/port",schemaPath:"#/properties/spec/properties/api/properties/port/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1}};
if(vErrors === null){
vErrors = [err342];
}
else {
vErrors.push(err342);
}
errors++;
}
}
}
if(data177.pathPrefix !== undefined){
let data180 = data177.pathPrefix;
if(typeof data180 !== "string"){
const err343 = {instancePath:instancePath+"/spec/api/pathPrefix",schemaPath:"#/properties/spec/properties/api/properties/pathPrefix/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err343];
}
else {
vErrors.push(err343);
}
errors++;
}
const _errs434 = errors;
let valid92 = true;
const _errs435 = errors;
if(typeof data180 === "string"){
if(!pattern7.test(data180)){
const err344 = {};
if(vErrors === null){
vErrors = [err344];
}
else {
vErrors.push(err344);
}
errors++;
}
}
var _valid12 = _errs435 === errors;
errors = _errs434;
if(vErrors !== null){
if(_errs434){
vErrors.length = _errs434;
}
else {
vErrors = null;
}
}
if(!_valid12){
const _errs436 = errors;
if(typeof data180 === "string"){
if(!pattern49.test(data180)){
const err345 = {instancePath:instancePath+"/spec/api/pathPrefix",schemaPath:"#/properties/spec/properties/api/properties/pathPrefix/else/pattern",keyword:"pattern",params:{pattern: "^/[^\\s]*$"}};
if(vErrors === null){
vErrors = [err345];
}
else {
vErrors.push(err345);
}
errors++;
}
}
var _valid12 = _errs436 === errors;
valid92 = _valid12;
}
if(!valid92){
const err346 = {instancePath:instancePath+"/spec/api/pathPrefix",schemaPath:"#/properties/spec/properties/api/properties/pathPrefix/if",keyword:"if",params:{failingKeyword: "else"}};
if(vErrors === null){
vErrors = [err346];
}
else {
vErrors.push(err346);
}
errors++;
}
}
if(data177.url !== undefined){
let data181 = data177.url;
if(typeof data181 !== "string"){
const err347 = {instancePath:instancePath+"/spec/api/url",schemaPath:"#/properties/spec/properties/api/properties/url/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err347];
}
else {
vErrors.push(err347);
}
errors++;
}
const _errs439 = errors;
let valid93 = true;
const _errs440 = errors;
if(typeof data181 === "string"){
if(!pattern7.test(data181)){
const err348 = {};
if(vErrors === null){
vErrors = [err348];
}
else {
vErrors.push(err348);
}
errors++;
}
}
var _valid13 = _errs440 === errors;
errors = _errs439;
if(vErrors !== null){
if(_errs439){
vErrors.length = _errs439;
}
else {
vErrors = null;
}
}
if(!_valid13){
const _errs441 = errors;
if(typeof data181 === "string"){
if(!pattern51.test(data181)){
const err349 = {instancePath:instancePath+"/spec/api/url",schemaPath:"#/properties/spec/properties/api/properties/url/else/pattern",keyword:"pattern",params:{pattern: "^(?:https?|wss?)://[^\\s/?#]+[^\\s]*$"}};
if(vErrors === null){
vErrors = [err349];
}
else {
vErrors.push(err349);
}
errors++;
}
}
var _valid13 = _errs441 === errors;
valid93 = _valid13;
}
if(!valid93){
const err350 = {instancePath:instancePath+"/spec/api/url",schemaPath:"#/properties/spec/properties/api/properties/url/if",keyword:"if",params:{failingKeyword: "else"}};
if(vErrors === null){
vErrors = [err350];
}
else {
vErrors.push(err350);
}
errors++;
}
}
if(data177.a2a !== undefined){
let data182 = data177.a2a;
if(data182 && typeof data182 == "object" && !Array.isArray(data182)){
if(data182.protocolBinding === undefined){
const err351 = {instancePath:instancePath+"/spec/api/a2a",schemaPath:"#/properties/spec/properties/api/properties/a2a/required",keyword:"required",params:{missingProperty: "protocolBinding"}};
if(vErrors === null){
vErrors = [err351];
}
else {
vErrors.push(err351);
}
errors++;
}
for(const key36 in data182){
if(!((((key36 === "protocolBinding") || (key36 === "path")) || (key36 === "protocolVersion")) || (pattern4.test(key36)))){
const err352 = {instancePath:instancePath+"/spec/api/a2a",schemaPath:"#/properties/spec/properties/api/properties/a2a/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key36}};
if(vErrors === null){
vErrors = [err352];
}
else {
vErrors.push(err352);
}
errors++;
}
}
if(data182.protocolBinding !== undefined){
let data183 = data182.protocolBinding;
if(typeof data183 !== "string"){
const err353 = {instancePath:instancePath+"/spec/api/a2a/protocolBinding",schemaPath:"#/properties/spec/properties/api/properties/a2a/properties/protocolBinding/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err353];
}
else {
vErrors.push(err353);
}
errors++;
}
if(!((data183 === "JSONRPC") || (data183 === "HTTP+JSON"))){
const err354 = {instancePath:instancePath+"/spec/api/a2a/protocolBinding",schemaPath:"#/properties/spec/properties/api/properties/a2a/properties/protocolBinding/enum",keyword:"enum",params:{allowedValues: schema31.properties.spec.properties.api.properties.a2a.properties.protocolBinding.enum}};
if(vErrors === null){
vErrors = [err354];
}
else {
vErrors.push(err354);
}
errors++;
}
}
if(data182.path !== undefined){
let data184 = data182.path;
if(typeof data184 !== "string"){
const err355 = {instancePath:instancePath+"/spec/api/a2a/path",schemaPath:"#/properties/spec/properties/api/properties/a2a/properties/path/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err355];
}
else {
vErrors.push(err355);
}
errors++;
}
const _errs449 = errors;
let valid95 = true;
const _errs450 = errors;
if(typeof data184 === "string"){
if(!pattern7.test(data184)){
const err356 = {};
if(vErrors === null){
vErrors = [err356];
}
else {
vErrors.push(err356);
}
errors++;
}
}
var _valid14 = _errs450 === errors;
errors = _errs449;
if(vErrors !== null){
if(_errs449){
vErrors.length = _errs449;
}
else {
vErrors = null;
}
}
if(!_valid14){
const _errs451 = errors;
if(typeof data184 === "string"){
if(!pattern49.test(data184)){
const err357 = {instancePath:instancePath+"/spec/api/a2a/path",schemaPath:"#/properties/spec/properties/api/properties/a2a/properties/path/else/pattern",keyword:"pattern",params:{pattern: "^/[^\\s]*$"}};
if(vErrors === null){
vErrors = [err357];
}
else {
vErrors.push(err357);
}
errors++;
}
}
var _valid14 = _errs451 === errors;
valid95 = _valid14;
}
if(!valid95){
const err358 = {instancePath:instancePath+"/spec/api/a2a/path",schemaPath:"#/properties/spec/properties/api/properties/a2a/properties/path/if",keyword:"if",params:{failingKeyword: "else"}};
if(vErrors === null){
vErrors = [err358];
}
else {
vErrors.push(err358);
}
errors++;
}
}
if(data182.protocolVersion !== undefined){
let data185 = data182.protocolVersion;
if(typeof data185 !== "string"){
const err359 = {instancePath:instancePath+"/spec/api/a2a/protocolVersion",schemaPath:"#/properties/spec/properties/api/properties/a2a/properties/protocolVersion/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err359];
}
else {
vErrors.push(err359);
}
errors++;
}
if(!((data185 === "1.0") || (data185 === "0.3"))){
const err360 = {instancePath:instancePath+"/spec/api/a2a/protocolVersion",schemaPath:"#/properties/spec/properties/api/properties/a2a/properties/protocolVersion/enum",keyword:"enum",params:{allowedValues: schema31.properties.spec.properties.api.properties.a2a.properties.protocolVersion.enum}};
if(vErrors === null){
vErrors = [err360];
}
else {
vErrors.push(err360);
}
errors++;
}
}
}
else {
const err361 = {instancePath:instancePath+"/spec/api/a2a",schemaPath:"#/properties/spec/properties/api/properties/a2a/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err361];
}
else {
vErrors.push(err361);
}
errors++;
}
}
if(data177.auth !== undefined){
let data186 = data177.auth;
if(data186 && typeof data186 == "object" && !Array.isArray(data186)){
for(const key37 in data186){
if(!((((key37 === "type") || (key37 === "jwksUri")) || (key37 === "header")) || (pattern4.test(key37)))){
const err362 = {instancePath:instancePath+"/spec/api/auth",schemaPath:"#/properties/spec/properties/api/properties/auth/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key37}};
if(vErrors === null){
vErrors = [err362];
}
else {
vErrors.push(err362);
}
errors++;
}
}
if(data186.type !== undefined){
let data187 = data186.type;
if(typeof data187 !== "string"){
const err363 = {instancePath:instancePath+"/spec/api/auth/type",schemaPath:"#/properties/spec/properties/api/properties/auth/properties/type/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err363];
}
else {
vErrors.push(err363);
}
errors++;
}
if(!((((data187 === "jwt") || (data187 === "apikey")) || (data187 === "oauth2")) || (data187 === "none"))){
const err364 = {instancePath:instancePath+"/spec/api/auth/type",schemaPath:"#/properties/spec/properties/api/properties/auth/properties/type/enum",keyword:"enum",params:{allowedValues: schema31.properties.spec.properties.api.properties.auth.properties.type.enum}};
if(vErrors === null){
vErrors = [err364];
}
else {
vErrors.push(err364);
}
errors++;
}
}
if(data186.jwksUri !== undefined){
let data188 = data186.jwksUri;
if(typeof data188 !== "string"){
const err365 = {instancePath:instancePath+"/spec/api/auth/jwksUri",schemaPath:"#/properties/spec/properties/api/properties/auth/properties/jwksUri/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err365];
}
else {
vErrors.push(err365);
}
errors++;
}
const _errs461 = errors;
let valid97 = true;
const _errs462 = errors;
if(typeof data188 === "string"){
if(!pattern7.test(data188)){
const err366 = {};
if(vErrors === null){
vErrors = [err366];
}
else {
vErrors.push(err366);
}
errors++;
}
}
var _valid15 = _errs462 === errors;
errors = _errs461;
if(vErrors !== null){
if(_errs461){
vErrors.length = _errs461;
}
else {
vErrors = null;
}
}
if(!_valid15){
const _errs463 = errors;
if(typeof data188 === "string"){
if(!pattern22.test(data188)){
const err367 = {instancePath:instancePath+"/spec/api/auth/jwksUri",schemaPath:"#/properties/spec/properties/api/properties/auth/properties/jwksUri/else/pattern",keyword:"pattern",params:{pattern: "^https?://[^\\s/?#]+[^\\s]*$"}};
if(vErrors === null){
vErrors = [err367];
}
else {
vErrors.push(err367);
}
errors++;
}
}
var _valid15 = _errs463 === errors;
valid97 = _valid15;
}
if(!valid97){
const err368 = {instancePath:instancePath+"/spec/api/auth/jwksUri",schemaPath:"#/properties/spec/properties/api/properties/auth/properties/jwksUri/if",keyword:"if",params:{failingKeyword: "else"}};
if(vErrors === null){
vErrors = [err368];
}
else {
vErrors.push(err368);
}
errors++;
}
}
if(data186.header !== undefined){
if(typeof data186.header !== "string"){
const err369 = {instancePath:instancePath+"/spec/api/auth/header",schemaPath:"#/properties/spec/properties/api/properties/auth/properties/header/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err369];
}
else {
vErrors.push(err369);
}
errors++;
}
}
}
else {
const err370 = {instancePath:instancePath+"/spec/api/auth",schemaPath:"#/properties/spec/properties/api/properties/auth/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err370];
}
else {
vErrors.push(err370);
}
errors++;
}
}
if(data177.rateLimit !== undefined){
let data190 = data177.rateLimit;
if(data190 && typeof data190 == "object" && !Array.isArray(data190)){
for(const key38 in data190){
if(!(((key38 === "requestsPerMinute") || (key38 === "requestsPerHour")) || (pattern4.test(key38)))){
const err371 = {instancePath:instancePath+"/spec/api/rateLimit",schemaPath:"#/properties/spec/properties/api/properties/rateLimit/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key38}};
if(vErrors === null){
vErrors = [err371];
}
else {
vErrors.push(err371);
}
errors++;
}
}
if(data190.requestsPerMinute !== undefined){
let data191 = data190.requestsPerMinute;
if(!(((typeof data191 == "number") && (!(data191 % 1) && !isNaN(data191))) && (isFinite(data191)))){
const err372 = {instancePath:instancePath+"/spec/api/rateLimit/requestsPerMinute",schemaPath:"#/properties/spec/properties/api/properties/rateLimit/properties/requestsPerMinute/type",keyword:"type",params:{type: "integer"}};
if(vErrors === null){
vErrors = [err372];
}
else {
vErrors.push(err372);
}
errors++;
}
if((typeof data191 == "number") && (isFinite(data191))){
if(data191 < 1 || isNaN(data191)){
const err373 = {instancePath:instancePath+"/spec/api/rateLimit/requestsPerMinute",schemaPath:"#/properties/spec/properties/api/properties/rateLimit/properties/requestsPerMinute/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1}};
if(vErrors === null){
vErrors = [err373];
}
else {
vErrors.push(err373);
}
errors++;
}
}
}
if(data190.requestsPerHour !== undefined){
let data192 = data190.requestsPerHour;
if(!(((typeof data192 == "number") && (!(data192 % 1) && !isNaN(data192))) && (isFinite(data192)))){
const err374 = {instancePath:instancePath+"/spec/api/rateLimit/requestsPerHour",schemaPath:"#/properties/spec/properties/api/properties/rateLimit/properties/requestsPerHour/type",keyword:"type",params:{type: "integer"}};
if(vErrors === null){
vErrors = [err374];
}
else {
vErrors.push(err374);
}
errors++;
}
if((typeof data192 == "number") && (isFinite(data192))){
if(data192 < 1 || isNaN(data192)){
const err375 = {instancePath:instancePath+"/spec/api/rateLimit/requestsPerHour",schemaPath:"#/properties/spec/properties/api/properties/rateLimit/properties/requestsPerHour/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1}};
if(vErrors === null){
vErrors = [err375];
}
else {
vErrors.push(err375);
}
errors++;
}
}
}
}
else {
const err376 = {instancePath:instancePath+"/spec/api/rateLimit",schemaPath:"#/properties/spec/properties/api/properties/rateLimit/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err376];
}
else {
vErrors.push(err376);
}
errors++;
}
}
if(data177.streaming !== undefined){
if(typeof data177.streaming !== "boolean"){
const err377 = {instancePath:instancePath+"/spec/api/streaming",schemaPath:"#/properties/spec/properties/api/properties/streaming/type",keyword:"type",params:{type: "boolean"}};
if(vErrors === null){
vErrors = [err377];
}
else {
vErrors.push(err377);
}
errors++;
}
}
if(data177.healthEndpoint !== undefined){
let data194 = data177.healthEndpoint;
if(typeof data194 !== "string"){
const err378 = {instancePath:instancePath+"/spec/api/healthEndpoint",schemaPath:"#/properties/spec/properties/api/properties/healthEndpoint/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err378];
}
else {
vErrors.push(err378);
}
errors++;
}
const _errs477 = errors;
let valid99 = true;
const _errs478 = errors;
if(typeof data194 === "string"){
if(!pattern7.test(data194)){
const err379 = {};
if(vErrors === null){
vErrors = [err379];
}
else {
vErrors.push(err379);
}
errors++;
}
}
var _valid16 = _errs478 === errors;
errors = _errs477;
if(vErrors !== null){
if(_errs477){
vErrors.length = _errs477;
}
else {
vErrors = null;
}
}
if(!_valid16){
const _errs479 = errors;
if(typeof data194 === "string"){
if(!pattern49.test(data194)){
const err380 = {instancePath:instancePath+"/spec/api/healthEndpoint",schemaPath:"#/properties/spec/properties/api/properties/healthEndpoint/else/pattern",keyword:"pattern",params:{pattern: "^/[^\\s]*$"}};
if(vErrors === null){
vErrors = [err380];
}
else {
vErrors.push(err380);
}
errors++;
}
}
var _valid16 = _errs479 === errors;
valid99 = _valid16;
}
if(!valid99){
const err381 = {instancePath:instancePath+"/spec/api/healthEndpoint",schemaPath:"#/properties/spec/properties/api/properties/healthEndpoint/if",keyword:"if",params:{failingKeyword: "else"}};
if(vErrors === null){
vErrors = [err381];
}
else {
vErrors.push(err381);
}
errors++;
}
}
if(data177.capabilitiesEndpoint !== undefined){
let data195 = data177.capabilitiesEndpoint;
if(typeof data195 !== "string"){
const err382 = {instancePath:instancePath+"/spec/api/capabilitiesEndpoint",schemaPath:"#/properties/spec/properties/api/properties/capabilitiesEndpoint/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err382];
}
else {
vErrors.push(err382);
}
errors++;
}
const _errs482 = errors;
let valid100 = true;
const _errs483 = errors;
if(typeof data195 === "string"){
if(!pattern7.test(data195)){
const err383 = {};
if(vErrors === null){
vErrors = [err383];
}
else {
vErrors.push(err383);
}
errors++;
}
}
var _valid17 = _errs483 === errors;
errors = _errs482;
if(vErrors !== null){
if(_errs482){
vErrors.length = _errs482;
}
else {
vErrors = null;
}
}
if(!_valid17){
const _errs484 = errors;
if(typeof data195 === "string"){
if(!pattern49.test(data195)){
const err384 = {instancePath:instancePath+"/spec/api/capabilitiesEndpoint",schemaPath:"#/properties/spec/properties/api/properties/capabilitiesEndpoint/else/pattern",keyword:"pattern",params:{pattern: "^/[^\\s]*$"}};
if(vErrors === null){
vErrors = [err384];
}
else {
vErrors.push(err384);
}
errors++;
}
}
var _valid17 = _errs484 === errors;
valid100 = _valid17;
}
if(!valid100){
const err385 = {instancePath:instancePath+"/spec/api/capabilitiesEndpoint",schemaPath:"#/properties/spec/properties/api/properties/capabilitiesEndpoint/if",keyword:"if",params:{failingKeyword: "else"}};
if(vErrors === null){
vErrors = [err385];
}
else {
vErrors.push(err385);
}
errors++;
}
}
if(data177.metricsEndpoint !== undefined){
let data196 = data177.metricsEndpoint;
if(typeof data196 !== "string"){
const err386 = {instancePath:instancePath+"/spec/api/metricsEndpoint",schemaPath:"#/properties/spec/properties/api/properties/metricsEndpoint/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err386];
}
else {
vErrors.push(err386);
}
errors++;
}
const _errs487 = errors;
let valid101 = true;
const _errs488 = errors;
if(typeof data196 === "string"){
if(!pattern7.test(data196)){
const err387 = {};
if(vErrors === null){
vErrors = [err387];
}
else {
vErrors.push(err387);
}
errors++;
}
}
var _valid18 = _errs488 === errors;
errors = _errs487;
if(vErrors !== null){
if(_errs487){
vErrors.length = _errs487;
}
else {
vErrors = null;
}
}
if(!_valid18){
const _errs489 = errors;
if(typeof data196 === "string"){
if(!pattern49.test(data196)){
const err388 = {instancePath:instancePath+"/spec/api/metricsEndpoint",schemaPath:"#/properties/spec/properties/api/properties/metricsEndpoint/else/pattern",keyword:"pattern",params:{pattern: "^/[^\\s]*$"}};
if(vErrors === null){
vErrors = [err388];
}
else {
vErrors.push(err388);
}
errors++;
}
}
var _valid18 = _errs489 === errors;
valid101 = _valid18;
}
if(!valid101){
const err389 = {instancePath:instancePath+"/spec/api/metricsEndpoint",schemaPath:"#/properties/spec/properties/api/properties/metricsEndpoint/if",keyword:"if",params:{failingKeyword: "else"}};
if(vErrors === null){
vErrors = [err389];
}
else {
vErrors.push(err389);
}
errors++;
}
}
if(data177.corsOrigins !== undefined){
let data197 = data177.corsOrigins;
if(Array.isArray(data197)){
const len21 = data197.length;
for(let i21=0; i21<len21; i21++){
if(typeof data197[i21] !== "string"){
const err390 = {instancePath:instancePath+"/spec/api/corsOrigins/" + i21,schemaPath:"#/properties/spec/properties/api/properties/corsOrigins/items/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err390];
}
else {
vErrors.push(err390);
}
errors++;
}
}
}
else {
const err391 = {instancePath:instancePath+"/spec/api/corsOrigins",schemaPath:"#/properties/spec/properties/api/properties/corsOrigins/type",keyword:"type",params:{type: "array"}};
if(vErrors === null){
vErrors = [err391];
}
else {
vErrors.push(err391);
}
errors++;
}
}
if(data177.chatEndpoint !== undefined){
let data199 = data177.chatEndpoint;
if(data199 && typeof data199 == "object" && !Array.isArray(data199)){
for(const key39 in data199){
if(!(((key39 === "path") || (key39 === "protocol")) || (pattern4.test(key39)))){
const err392 = {instancePath:instancePath+"/spec/api/chatEndpoint",schemaPath:"#/properties/spec/properties/api/properties/chatEndpoint/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key39}};
if(vErrors === null){
vErrors = [err392];
}
else {
vErrors.push(err392);
}
errors++;
}
}
if(data199.path !== undefined){
let data200 = data199.path;
if(typeof data200 !== "string"){
const err393 = {instancePath:instancePath+"/spec/api/chatEndpoint/path",schemaPath:"#/properties/spec/properties/api/properties/chatEndpoint/properties/path/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err393];
}
else {
vErrors.push(err393);
}
errors++;
}
const _errs499 = errors;
let valid105 = true;
const _errs500 = errors;
if(typeof data200 === "string"){
if(!pattern7.test(data200)){
const err394 = {};
if(vErrors === null){
vErrors = [err394];
}
else {
vErrors.push(err394);
}
errors++;
}
}
var _valid19 = _errs500 === errors;
errors = _errs499;
if(vErrors !== null){
if(_errs499){
vErrors.length = _errs499;
}
else {
vErrors = null;
}
}
if(!_valid19){
const _errs501 = errors;
if(typeof data200 === "string"){
if(!pattern49.test(data200)){
const err395 = {instancePath:instancePath+"/spec/api/chatEndpoint/path",schemaPath:"#/properties/spec/properties/api/properties/chatEndpoint/properties/path/else/pattern",keyword:"pattern",params:{pattern: "^/[^\\s]*$"}};
if(vErrors === null){
vErrors = [err395];
}
else {
vErrors.push(err395);
}
errors++;
}
}
var _valid19 = _errs501 === errors;
valid105 = _valid19;
}
if(!valid105){
const err396 = {instancePath:instancePath+"/spec/api/chatEndpoint/path",schemaPath:"#/properties/spec/properties/api/properties/chatEndpoint/properties/path/if",keyword:"if",params:{failingKeyword: "else"}};
if(vErrors === null){
vErrors = [err396];
}
else {
vErrors.push(err396);
}
errors++;
}
}
if(data199.protocol !== undefined){
let data201 = data199.protocol;
if(typeof data201 !== "string"){
const err397 = {instancePath:instancePath+"/spec/api/chatEndpoint/protocol",schemaPath:"#/properties/spec/properties/api/properties/chatEndpoint/properties/protocol/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err397];
}
else {
vErrors.push(err397);
}
errors++;
}
if(!((data201 === "openai-compatible") || (data201 === "custom"))){
const err398 = {instancePath:instancePath+"/spec/api/chatEndpoint/protocol",schemaPath:"#/properties/spec/properties/api/properties/chatEndpoint/properties/protocol/enum",keyword:"enum",params:{allowedValues: schema31.properties.spec.properties.api.properties.chatEndpoint.properties.protocol.enum}};
if(vErrors === null){
vErrors = [err398];
}
else {
vErrors.push(err398);
}
errors++;
}
}
}
else {
const err399 = {instancePath:instancePath+"/spec/api/chatEndpoint",schemaPath:"#/properties/spec/properties/api/properties/chatEndpoint/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err399];
}
else {
vErrors.push(err399);
}
errors++;
}
}
}
else {
const err400 = {instancePath:instancePath+"/spec/api",schemaPath:"#/properties/spec/properties/api/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err400];
}
else {
vErrors.push(err400);
}
errors++;
}
}
if(data10.subagents !== undefined){
let data202 = data10.subagents;
if(Array.isArray(data202)){
const len22 = data202.length;
for(let i22=0; i22<len22; i22++){
let data203 = data202[i22];
if(data203 && typeof data203 == "object" && !Array.isArray(data203)){
if(data203.name === undefined){
const err401 = {instancePath:instancePath+"/spec/subagents/" + i22,schemaPath:"#/properties/spec/properties/subagents/items/required",keyword:"required",params:{missingProperty: "name"}};
if(vErrors === null){
vErrors = [err401];
}
else {
vErrors.push(err401);
}
errors++;
}
if(data203.ref === undefined){
const err402 = {instancePath:instancePath+"/spec/subagents/" + i22,schemaPath:"#/properties/spec/properties/subagents/items/required",keyword:"required",params:{missingProperty: "ref"}};
if(vErrors === null){
vErrors = [err402];
}
else {
vErrors.push(err402);
}
errors++;
}
for(const key40 in data203){
if(!((((((key40 === "name") || (key40 === "ref")) || (key40 === "invocation")) || (key40 === "passContext")) || (key40 === "triggerKeywords")) || (pattern4.test(key40)))){
const err403 = {instancePath:instancePath+"/spec/subagents/" + i22,schemaPath:"#/properties/spec/properties/subagents/items/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key40}};
if(vErrors === null){
vErrors = [err403];
}
else {
vErrors.push(err403);
}
errors++;
}
}
if(data203.name !== undefined){
let data204 = data203.name;
if(typeof data204 === "string"){
if(data204.length < 1){
const err404 = {instancePath:instancePath+"/spec/subagents/" + i22+"/name",schemaPath:"#/properties/spec/properties/subagents/items/properties/name/minLength",keyword:"minLength",params:{limit: 1}};
if(vErrors === null){
vErrors = [err404];
}
else {
vErrors.push(err404);
}
errors++;
}
}
else {
const err405 = {instancePath:instancePath+"/spec/subagents/" + i22+"/name",schemaPath:"#/properties/spec/properties/subagents/items/properties/name/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err405];
}
else {
vErrors.push(err405);
}
errors++;
}
}
if(data203.ref !== undefined){
let data205 = data203.ref;
const _errs513 = errors;
let valid109 = false;
let passing0 = null;
const _errs514 = errors;
if(data205 && typeof data205 == "object" && !Array.isArray(data205)){
if(data205.manifest === undefined){
const err406 = {instancePath:instancePath+"/spec/subagents/" + i22+"/ref",schemaPath:"#/properties/spec/properties/subagents/items/properties/ref/oneOf/0/required",keyword:"required",params:{missingProperty: "manifest"}};
if(vErrors === null){
vErrors = [err406];
}
else {
vErrors.push(err406);
}
errors++;
}
}
var _valid20 = _errs514 === errors;
if(_valid20){
valid109 = true;
passing0 = 0;
}
const _errs515 = errors;
if(data205 && typeof data205 == "object" && !Array.isArray(data205)){
if(data205.a2a === undefined){
const err407 = {instancePath:instancePath+"/spec/subagents/" + i22+"/ref",schemaPath:"#/properties/spec/properties/subagents/items/properties/ref/oneOf/1/required",keyword:"required",params:{missingProperty: "a2a"}};
if(vErrors === null){
vErrors = [err407];
}
else {
vErrors.push(err407);
}
errors++;
}
}
var _valid20 = _errs515 === errors;
if(_valid20 && valid109){
valid109 = false;
passing0 = [passing0, 1];
}
else {
if(_valid20){
valid109 = true;
passing0 = 1;
}
}
if(!valid109){
const err408 = {instancePath:instancePath+"/spec/subagents/" + i22+"/ref",schemaPath:"#/properties/spec/properties/subagents/items/properties/ref/oneOf",keyword:"oneOf",params:{passingSchemas: passing0}};
if(vErrors === null){
vErrors = [err408];
}
else {
vErrors.push(err408);
}
errors++;
}
else {
errors = _errs513;
if(vErrors !== null){
if(_errs513){
vErrors.length = _errs513;
}
else {
vErrors = null;
}
}
}
if(data205 && typeof data205 == "object" && !Array.isArray(data205)){
for(const key41 in data205){
if(!(((key41 === "manifest") || (key41 === "a2a")) || (pattern4.test(key41)))){
const err409 = {instancePath:instancePath+"/spec/subagents/" + i22+"/ref",schemaPath:"#/properties/spec/properties/subagents/items/properties/ref/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key41}};
if(vErrors === null){
vErrors = [err409];
}
else {
vErrors.push(err409);
}
errors++;
}
}
if(data205.manifest !== undefined){
let data206 = data205.manifest;
if(typeof data206 === "string"){
if(data206.length < 1){
const err410 = {instancePath:instancePath+"/spec/subagents/" + i22+"/ref/manifest",schemaPath:"#/properties/spec/properties/subagents/items/properties/ref/properties/manifest/minLength",keyword:"minLength",params:{limit: 1}};
if(vErrors === null){
vErrors = [err410];
}
else {
vErrors.push(err410);
}
errors++;
}
}
else {
const err411 = {instancePath:instancePath+"/spec/subagents/" + i22+"/ref/manifest",schemaPath:"#/properties/spec/properties/subagents/items/properties/ref/properties/manifest/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err411];
}
else {
vErrors.push(err411);
}
errors++;
}
}
if(data205.a2a !== undefined){
let data207 = data205.a2a;
if(data207 && typeof data207 == "object" && !Array.isArray(data207)){
if(data207.url === undefined){
const err412 = {instancePath:instancePath+"/spec/subagents/" + i22+"/ref/a2a",schemaPath:"#/properties/spec/properties/subagents/items/properties/ref/properties/a2a/required",keyword:"required",params:{missingProperty: "url"}};
if(vErrors === null){
vErrors = [err412];
}
else {
vErrors.push(err412);
}
errors++;
}
for(const key42 in data207){
if(!(((key42 === "url") || (key42 === "auth")) || (pattern4.test(key42)))){
const err413 = {instancePath:instancePath+"/spec/subagents/" + i22+"/ref/a2a",schemaPath:"#/properties/spec/properties/subagents/items/properties/ref/properties/a2a/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key42}};
if(vErrors === null){
vErrors = [err413];
}
else {
vErrors.push(err413);
}
errors++;
}
}
if(data207.url !== undefined){
let data208 = data207.url;
if(typeof data208 !== "string"){
const err414 = {instancePath:instancePath+"/spec/subagents/" + i22+"/ref/a2a/url",schemaPath:"#/properties/spec/properties/subagents/items/properties/ref/properties/a2a/properties/url/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err414];
}
else {
vErrors.push(err414);
}
errors++;
}
const _errs524 = errors;
let valid112 = true;
const _errs525 = errors;
if(typeof data208 === "string"){
if(!pattern7.test(data208)){
const err415 = {};
if(vErrors === null){
vErrors = [err415];
}
else {
vErrors.push(err415);
}
errors++;
}
}
var _valid21 = _errs525 === errors;
errors = _errs524;
if(vErrors !== null){
if(_errs524){
vErrors.length = _errs524;
}
else {
vErrors = null;
}
}
if(!_valid21){
const _errs526 = errors;
if(typeof data208 === "string"){
if(!pattern22.test(data208)){
const err416 = {instancePath:instancePath+"/spec/subagents/" + i22+"/ref/a2a/url",schemaPath:"#/properties/spec/properties/subagents/items/properties/ref/properties/a2a/properties/url/else/pattern",keyword:"pattern",params:{pattern: "^https?://[^\\s/?#]+[^\\s]*$"}};
if(vErrors === null){
vErrors = [err416];
}
else {
vErrors.push(err416);
}
errors++;
}
}
var _valid21 = _errs526 === errors;
valid112 = _valid21;
}
if(!valid112){
const err417 = {instancePath:instancePath+"/spec/subagents/" + i22+"/ref/a2a/url",schemaPath:"#/properties/spec/properties/subagents/items/properties/ref/properties/a2a/properties/url/if",keyword:"if",params:{failingKeyword: "else"}};
if(vErrors === null){
vErrors = [err417];
}
else {
vErrors.push(err417);
}
errors++;
}
}
if(data207.auth !== undefined){
let data209 = data207.auth;
if(data209 && typeof data209 == "object" && !Array.isArray(data209)){
for(const key43 in data209){
if(!((((key43 === "type") || (key43 === "token")) || (key43 === "header")) || (pattern4.test(key43)))){
const err418 = {instancePath:instancePath+"/spec/subagents/" + i22+"/ref/a2a/auth",schemaPath:"#/properties/spec/properties/subagents/items/properties/ref/properties/a2a/properties/auth/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key43}};
if(vErrors === null){
vErrors = [err418];
}
else {
vErrors.push(err418);
}
errors++;
}
}
if(data209.type !== undefined){
if(typeof data209.type !== "string"){
const err419 = {instancePath:instancePath+"/spec/subagents/" + i22+"/ref/a2a/auth/type",schemaPath:"#/properties/spec/properties/subagents/items/properties/ref/properties/a2a/properties/auth/properties/type/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err419];
}
else {
vErrors.push(err419);
}
errors++;
}
}
if(data209.token !== undefined){
let data211 = data209.token;
if(typeof data211 === "string"){
if(data211.length < 1){
const err420 = {instancePath:instancePath+"/spec/subagents/" + i22+"/ref/a2a/auth/token",schemaPath:"#/properties/spec/properties/subagents/items/properties/ref/properties/a2a/properties/auth/properties/token/minLength",keyword:"minLength",params:{limit: 1}};
if(vErrors === null){
vErrors = [err420];
}
else {
vErrors.push(err420);
}
errors++;
}
}
else {
const err421 = {instancePath:instancePath+"/spec/subagents/" + i22+"/ref/a2a/auth/token",schemaPath:"#/properties/spec/properties/subagents/items/properties/ref/properties/a2a/properties/auth/properties/token/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err421];
}
else {
vErrors.push(err421);
}
errors++;
}
}
if(data209.header !== undefined){
if(typeof data209.header !== "string"){
const err422 = {instancePath:instancePath+"/spec/subagents/" + i22+"/ref/a2a/auth/header",schemaPath:"#/properties/spec/properties/subagents/items/properties/ref/properties/a2a/properties/auth/properties/header/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err422];
}
else {
vErrors.push(err422);
}
errors++;
}
}
}
else {
const err423 = {instancePath:instancePath+"/spec/subagents/" + i22+"/ref/a2a/auth",schemaPath:"#/properties/spec/properties/subagents/items/properties/ref/properties/a2a/properties/auth/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err423];
}
else {
vErrors.push(err423);
}
errors++;
}
}
}
else {
const err424 = {instancePath:instancePath+"/spec/subagents/" + i22+"/ref/a2a",schemaPath:"#/properties/spec/properties/subagents/items/properties/ref/properties/a2a/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err424];
}
else {
vErrors.push(err424);
}
errors++;
}
}
}
else {
const err425 = {instancePath:instancePath+"/spec/subagents/" + i22+"/ref",schemaPath:"#/properties/spec/properties/subagents/items/properties/ref/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err425];
}
else {
vErrors.push(err425);
}
errors++;
}
}
if(data203.invocation !== undefined){
let data213 = data203.invocation;
if(typeof data213 !== "string"){
const err426 = {instancePath:instancePath+"/spec/subagents/" + i22+"/invocation",schemaPath:"#/properties/spec/properties/subagents/items/properties/invocation/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err426];
}
else {
vErrors.push(err426);
}
errors++;
}
if(!(((data213 === "parallel") || (data213 === "sequential")) || (data213 === "on-demand"))){
const err427 = {instancePath:instancePath+"/spec/subagents/" + i22+"/invocation",schemaPath:"#/properties/spec/properties/subagents/items/properties/invocation/enum",keyword:"enum",params:{allowedValues: schema31.properties.spec.properties.subagents.items.properties.invocation.enum}};
if(vErrors === null){
vErrors = [err427];
}
else {
vErrors.push(err427);
}
errors++;
}
}
if(data203.passContext !== undefined){
if(typeof data203.passContext !== "boolean"){
const err428 = {instancePath:instancePath+"/spec/subagents/" + i22+"/passContext",schemaPath:"#/properties/spec/properties/subagents/items/properties/passContext/type",keyword:"type",params:{type: "boolean"}};
if(vErrors === null){
vErrors = [err428];
}
else {
vErrors.push(err428);
}
errors++;
}
}
if(data203.triggerKeywords !== undefined){
let data215 = data203.triggerKeywords;
if(Array.isArray(data215)){
const len23 = data215.length;
for(let i23=0; i23<len23; i23++){
if(typeof data215[i23] !== "string"){
const err429 = {instancePath:instancePath+"/spec/subagents/" + i22+"/triggerKeywords/" + i23,schemaPath:"#/properties/spec/properties/subagents/items/properties/triggerKeywords/items/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err429];
}
else {
vErrors.push(err429);
}
errors++;
}
}
}
else {
const err430 = {instancePath:instancePath+"/spec/subagents/" + i22+"/triggerKeywords",schemaPath:"#/properties/spec/properties/subagents/items/properties/triggerKeywords/type",keyword:"type",params:{type: "array"}};
if(vErrors === null){
vErrors = [err430];
}
else {
vErrors.push(err430);
}
errors++;
}
}
}
else {
const err431 = {instancePath:instancePath+"/spec/subagents/" + i22,schemaPath:"#/properties/spec/properties/subagents/items/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err431];
}
else {
vErrors.push(err431);
}
errors++;
}
}
}
else {
const err432 = {instancePath:instancePath+"/spec/subagents",schemaPath:"#/properties/spec/properties/subagents/type",keyword:"type",params:{type: "array"}};
if(vErrors === null){
vErrors = [err432];
}
else {
vErrors.push(err432);
}
errors++;
}
}
if(data10.skills !== undefined){
let data217 = data10.skills;
if(Array.isArray(data217)){
const len24 = data217.length;
for(let i24=0; i24<len24; i24++){
let data218 = data217[i24];
if(data218 && typeof data218 == "object" && !Array.isArray(data218)){
if(data218.id === undefined){
const err433 = {instancePath:instancePath+"/spec/skills/" + i24,schemaPath:"#/properties/spec/properties/skills/items/required",keyword:"required",params:{missingProperty: "id"}};
if(vErrors === null){
vErrors = [err433];
}
else {
vErrors.push(err433);
}
errors++;
}
for(const key44 in data218){
if(!(((key44 === "id") || (key44 === "version")) || (pattern4.test(key44)))){
const err434 = {instancePath:instancePath+"/spec/skills/" + i24,schemaPath:"#/properties/spec/properties/skills/items/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key44}};
if(vErrors === null){
vErrors = [err434];
}
else {
vErrors.push(err434);
}
errors++;
}
}
if(data218.id !== undefined){
let data219 = data218.id;
if(typeof data219 === "string"){
if(data219.length < 1){
const err435 = {instancePath:instancePath+"/spec/skills/" + i24+"/id",schemaPath:"#/properties/spec/properties/skills/items/properties/id/minLength",keyword:"minLength",params:{limit: 1}};
if(vErrors === null){
vErrors = [err435];
}
else {
vErrors.push(err435);
}
errors++;
}
}
else {
const err436 = {instancePath:instancePath+"/spec/skills/" + i24+"/id",schemaPath:"#/properties/spec/properties/skills/items/properties/id/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err436];
}
else {
vErrors.push(err436);
}
errors++;
}
}
if(data218.version !== undefined){
if(typeof data218.version !== "string"){
const err437 = {instancePath:instancePath+"/spec/skills/" + i24+"/version",schemaPath:"#/properties/spec/properties/skills/items/properties/version/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err437];
}
else {
vErrors.push(err437);
}
errors++;
}
}
}
else {
const err438 = {instancePath:instancePath+"/spec/skills/" + i24,schemaPath:"#/properties/spec/properties/skills/items/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err438];
}
else {
vErrors.push(err438);
}
errors++;
}
}
}
else {
const err439 = {instancePath:instancePath+"/spec/skills",schemaPath:"#/properties/spec/properties/skills/type",keyword:"type",params:{type: "array"}};
if(vErrors === null){
vErrors = [err439];
}
else {
vErrors.push(err439);
}
errors++;
}
}
if(data10.humanInTheLoop !== undefined){
let data221 = data10.humanInTheLoop;
if(data221 && typeof data221 == "object" && !Array.isArray(data221)){
for(const key45 in data221){
if(!(((((((key45 === "enabled") || (key45 === "approvalRequired")) || (key45 === "timeoutSeconds")) || (key45 === "timeoutAction")) || (key45 === "notifyVia")) || (key45 === "webhookUrl")) || (pattern4.test(key45)))){
const err440 = {instancePath:instancePath+"/spec/humanInTheLoop",schemaPath:"#/properties/spec/properties/humanInTheLoop/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key45}};
if(vErrors === null){
vErrors = [err440];
}
else {
vErrors.push(err440);
}
errors++;
}
}
if(data221.enabled !== undefined){
if(typeof data221.enabled !== "boolean"){
const err441 = {instancePath:instancePath+"/spec/humanInTheLoop/enabled",schemaPath:"#/properties/spec/properties/humanInTheLoop/properties/enabled/type",keyword:"type",params:{type: "boolean"}};
if(vErrors === null){
vErrors = [err441];
}
else {
vErrors.push(err441);
}
errors++;
}
}
if(data221.approvalRequired !== undefined){
let data223 = data221.approvalRequired;
if(Array.isArray(data223)){
const len25 = data223.length;
for(let i25=0; i25<len25; i25++){
if(typeof data223[i25] !== "string"){
const err442 = {instancePath:instancePath+"/spec/humanInTheLoop/approvalRequired/" + i25,schemaPath:"#/properties/spec/properties/humanInTheLoop/properties/approvalRequired/items/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err442];
}
else {
vErrors.push(err442);
}
errors++;
}
}
}
else {
const err443 = {instancePath:instancePath+"/spec/humanInTheLoop/approvalRequired",schemaPath:"#/properties/spec/properties/humanInTheLoop/properties/approvalRequired/type",keyword:"type",params:{type: "array"}};
if(vErrors === null){
vErrors = [err443];
}
else {
vErrors.push(err443);
}
errors++;
}
}
if(data221.timeoutSeconds !== undefined){
let data225 = data221.timeoutSeconds;
if(!(((typeof data225 == "number") && (!(data225 % 1) && !isNaN(data225))) && (isFinite(data225)))){
const err444 = {instancePath:instancePath+"/spec/humanInTheLoop/timeoutSeconds",schemaPath:"#/properties/spec/properties/humanInTheLoop/properties/timeoutSeconds/type",keyword:"type",params:{type: "integer"}};
if(vErrors === null){
vErrors = [err444];
}
else {
vErrors.push(err444);
}
errors++;
}
if((typeof data225 == "number") && (isFinite(data225))){
if(data225 < 1 || isNaN(data225)){
const err445 = {instancePath:instancePath+"/spec/humanInTheLoop/timeoutSeconds",schemaPath:"#/properties/spec/properties/humanInTheLoop/properties/timeoutSeconds/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1}};
if(vErrors === null){
vErrors = [err445];
}
else {
vErrors.push(err445);
}
errors++;
}
}
}
if(data221.timeoutAction !== undefined){
if(typeof data221.timeoutAction !== "string"){
const err446 = {instancePath:instancePath+"/spec/humanInTheLoop/timeoutAction",schemaPath:"#/properties/spec/properties/humanInTheLoop/properties/timeoutAction/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err446];
}
else {
vErrors.push(err446);
}
errors++;
}
}
if(data221.notifyVia !== undefined){
let data227 = data221.notifyVia;
if(Array.isArray(data227)){
const len26 = data227.length;
for(let i26=0; i26<len26; i26++){
if(typeof data227[i26] !== "string"){
const err447 = {instancePath:instancePath+"/spec/humanInTheLoop/notifyVia/" + i26,schemaPath:"#/properties/spec/properties/humanInTheLoop/properties/notifyVia/items/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err447];
}
else {
vErrors.push(err447);
}
errors++;
}
}
}
else {
const err448 = {instancePath:instancePath+"/spec/humanInTheLoop/notifyVia",schemaPath:"#/properties/spec/properties/humanInTheLoop/properties/notifyVia/type",keyword:"type",params:{type: "array"}};
if(vErrors === null){
vErrors = [err448];
}
else {
vErrors.push(err448);
}
errors++;
}
}
if(data221.webhookUrl !== undefined){
let data229 = data221.webhookUrl;
if(typeof data229 !== "string"){
const err449 = {instancePath:instancePath+"/spec/humanInTheLoop/webhookUrl",schemaPath:"#/properties/spec/properties/humanInTheLoop/properties/webhookUrl/type",keyword:"type",params:{type: "string"}};
if(vErrors === null){
vErrors = [err449];
}
else {
vErrors.push(err449);
}
errors++;
}
const _errs572 = errors;
let valid124 = true;
const _errs573 = errors;
if(typeof data229 === "string"){
if(!pattern7.test(data229)){
const err450 = {};
if(vErrors === null){
vErrors = [err450];
}
else {
vErrors.push(err450);
}
errors++;
}
}
var _valid22 = _errs573 === errors;
errors = _errs572;
if(vErrors !== null){
if(_errs572){
vErrors.length = _errs572;
}
else {
vErrors = null;
}
}
if(!_valid22){
const _errs574 = errors;
if(typeof data229 === "string"){
if(!pattern22.test(data229)){
const err451 = {instancePath:instancePath+"/spec/humanInTheLoop/webhookUrl",schemaPath:"#/properties/spec/properties/humanInTheLoop/properties/webhookUrl/else/pattern",keyword:"pattern",params:{pattern: "^https?://[^\\s/?#]+[^\\s]*$"}};
if(vErrors === null){
vErrors = [err451];
}
else {
vErrors.push(err451);
}
errors++;
}
}
var _valid22 = _errs574 === errors;
valid124 = _valid22;
}
if(!valid124){
const err452 = {instancePath:instancePath+"/spec/humanInTheLoop/webhookUrl",schemaPath:"#/properties/spec/properties/humanInTheLoop/properties/webhookUrl/if",keyword:"if",params:{failingKeyword: "else"}};
if(vErrors === null){
vErrors = [err452];
}
else {
vErrors.push(err452);
}
errors++;
}
}
}
else {
const err453 = {instancePath:instancePath+"/spec/humanInTheLoop",schemaPath:"#/properties/spec/properties/humanInTheLoop/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err453];
}
else {
vErrors.push(err453);
}
errors++;
}
}
}
else {
const err454 = {instancePath:instancePath+"/spec",schemaPath:"#/properties/spec/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err454];
}
else {
vErrors.push(err454);
}
errors++;
}
}
}
else {
const err455 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"}};
if(vErrors === null){
vErrors = [err455];
}
else {
vErrors.push(err455);
}
errors++;
}
validate20.errors = vErrors;
return errors === 0;
}
validate20.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};
export const validateManifest: ((data: unknown) => boolean) & { errors?: object[] | null } = validate20;
