// sw.js: caches the page for use without a network. The network comes first, so that updates appear at once.
const CACHE = 'sooth';
const FILES = [
  './', 'index.html', 'style.css', 'charts.css', 'icon.svg', 'app.js', 'client.js', 'combo.js', 'charts.js', 'csv.js',
  'engine.js', 'export.js', 'files.js', 'format.js', 'graph.js', 'panel.js', 'plans.js', 'question.js', 'sparse.js',
  'summary.js', 'table.js', 'tip.js', 'report.js', 'views.js', 'worker.js', 'sooth.js', 'sooth.wasm'
];

self.addEventListener('install', (event) => {
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(FILES)).then(() => self.skipWaiting()));
});

self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));

self.addEventListener('fetch', (event) => {
  if (event.request.method !== 'GET' || new URL(event.request.url).origin !== self.location.origin) return;
  event.respondWith((async () => {
    const cache = await caches.open(CACHE);
    try {
      const fresh = await fetch(event.request);
      if (fresh.ok) cache.put(event.request, fresh.clone());
      return fresh;
    } catch (error) {
      const kept = await cache.match(event.request, {ignoreSearch: true});
      if (kept) return kept;
      throw error;
    }
  })());
});
