/* The time of an event through the pipes of a module in a process of its own. Usage: pipe DRIVER COUNT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FIELDS = 28, ANSWERS = 15 };

static double seconds(struct timeval at) { return at.tv_sec + at.tv_usec / 1e6; }

int main(int count, char **words)
{
	int to[2], from[2];
	long events = count > 2 ? atol(words[2]) : 100000;
	long long event[FIELDS] = { 1 }, answer[ANSWERS];
	struct timespec begin, end;
	struct rusage self, child;
	pid_t process;

	if (count < 2 || pipe(to) || pipe(from))
		return 2;
	process = fork();
	if (process == 0) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		close(to[1]);
		close(from[0]);
		execl(words[1], words[1], "--binary", (char *)0);
		_exit(2);
	}
	close(to[0]);
	close(from[1]);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	event[3] = 1448;
	event[4] = 100;
	for (long n = 0; n <= events; n++) {
		if (write(to[1], event, sizeof(event)) != sizeof(event))
			return 1;
		for (size_t have = 0; have < sizeof(answer);) {
			ssize_t got = read(from[0], (char *)answer + have, sizeof(answer) - have);
			if (got <= 0)
				return 1;
			have += (size_t)got;
		}
		event[0] = 3;
		event[2] = (n + 1) * 1000000;
		event[8] = event[9] = 100;
		event[10] = n * 1448;
		event[11] = (n + 100) * 1448;
		event[12] = event[13] = event[19] = event[21] = 100000;
		event[15] = event[16] = 1;
		event[20] = 100;
		event[22] = n > 100 ? n - 100 : 0;
		event[23] = 101;
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	close(to[1]);
	waitpid(process, NULL, 0);
	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &child);
	printf("%ld events, error %lld, cwnd %lld: %.2f us an event by the clock, %.2f us of processor time in both\n", events, answer[0], answer[1],
	       (end.tv_sec - begin.tv_sec + (end.tv_nsec - begin.tv_nsec) / 1e9) * 1e6 / events,
	       (seconds(self.ru_utime) + seconds(self.ru_stime) + seconds(child.ru_utime) + seconds(child.ru_stime)) * 1e6 / events);
	return 0;
}
