/** Decodes an image in a worker: megabytes of base64 would block the page. */
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

self.onmessage = (event: MessageEvent<{ base64: string; mime: string }>) => {
  const { base64, mime } = event.data;
  const standard = base64.replaceAll("-", "+").replaceAll("_", "/");
  if (!BASE64.test(standard)) {
    self.postMessage(null);
    return;
  }
  const text = atob(standard);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  self.postMessage(new Blob([bytes], { type: mime }));
};
