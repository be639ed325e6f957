// StrykerJS runs the tests in worker threads, where nobody may set the umask.
process.umask = () => 0o022;
