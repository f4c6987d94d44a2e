// The only file that names the peers: it stays uncompiled here, so that they resolve from bench/node_modules while the
// compiled benchmark and product resolve their own packages from the root.
export const loadPi = () => import('@mariozechner/pi-agent-core');
export const loadPiAi = () => import('@mariozechner/pi-ai');
export const loadAiSdk = () => import('ai');
export const loadFdir = () => import('fdir');
export const loadOpenaiAgents = () => import('@openai/agents-core');
export const loadLangGraph = () => import('@langchain/langgraph/prebuilt');
export const loadLangChainModels = () => import('@langchain/core/language_models/chat_models');
export const loadLangChainMessages = () => import('@langchain/core/messages');
export const loadLangChainTools = () => import('@langchain/core/tools');
