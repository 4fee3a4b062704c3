export { now } from "./cursor.js";
