export { toMetres } from './length.js';
