(() => {
  "use strict";
  const events = new EventSource("events");
  events.addEventListener("rebuilt", () => location.reload());
})();
