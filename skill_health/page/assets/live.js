(() => {
  "use strict";
  const events = new EventSource("events");
  events.addEventListener("rebuilt", () => location.reload());
  // Firefox calls it an error where a page goes while it still listens.
  addEventListener("beforeunload", () => events.close());
})();
