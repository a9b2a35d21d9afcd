"""Many people at once over HTTP, and kills in the middle of it: clients, the served app, and what is compared then."""
