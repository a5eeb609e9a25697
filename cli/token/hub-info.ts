export { findHubInfo, type HubInfo, readHubInfo } from '@rollcall/shared/hub';
