// SPDX-License-Identifier: MIT
/* TCP over loopback, both ends in one process, so that nobody else has to be waited for. */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "load_events.h"

long long message_size = 1;

static struct sockaddr_in address = {.sin_family = AF_INET};
static int listener, sender, receiver;
static char *message;

static int new_socket(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		load_failed("socket");
	return fd;
}

static void listen_on_loopback(void)
{
	socklen_t length = sizeof(address);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = new_socket();
	if (bind(listener, (struct sockaddr *)&address, length) || listen(listener, 16) ||
	    getsockname(listener, (struct sockaddr *)&address, &length))
		load_failed("a listening socket");
}

static void connect_pair(int *there, int *back)
{
	*there = new_socket();
	if (connect(*there, (struct sockaddr *)&address, sizeof(address)))
		load_failed("connect");
	*back = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (*back < 0)
		load_failed("accept");
}

/* Reset, not closed: a closed one would keep its port for a minute, and ports are few. */
static void reset(int fd)
{
	struct linger at_once = {.l_onoff = 1};

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	close(fd);
}

static void connect_and_close(void)
{
	int there, back;

	connect_pair(&there, &back);
	reset(there);
	close(back);
}

static void connect_once(void)
{
	int on = 1;

	listen_on_loopback();
	connect_pair(&sender, &receiver);
	setsockopt(sender, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	message = calloc(1, message_size);
	if (!message)
		load_failed("memory");
}

/* One send, and as many receives as it takes. */
static void pass(int from, int to)
{
	ssize_t sent = send(from, message, message_size, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (sent < 0)
		load_failed("send");
	while (sent > 0) {
		ssize_t came = recv(to, message, sent, 0);

		if (came <= 0)
			load_failed("recv");
		sent -= came;
	}
}

static void send_message(void)
{
	pass(sender, receiver);
}

static void prepare_network(void)
{
	listen_on_loopback();
	message = calloc(1, message_size);
	if (!message)
		load_failed("memory");
}

/* A connection that talks a little, as one of a service does. */
static void network(void)
{
	int there, back;

	connect_pair(&there, &back);
	for (int i = 0; i < 10; i++)
		pass(i % 2 ? back : there, i % 2 ? there : back);
	reset(there);
	close(back);
}

/* A connection and the files that answering it takes. */
static void service(void)
{
	network();
	file_events[2].make();
}

static void make_socket(void)
{
	close(new_socket());
}

static void bind_socket(void)
{
	struct sockaddr_in any = {.sin_family = AF_INET};
	int fd = new_socket();

	any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(fd, (struct sockaddr *)&any, sizeof(any)))
		load_failed("bind");
	close(fd);
}

const struct event socket_events[] = {
	{"connect", "a TCP connection over loopback: made, accepted, reset", listen_on_loopback,
	 connect_and_close},
	{"send", "a message over a standing connection, sent and received", connect_once,
	 send_message},
	{"network", "a connection, 10 messages over it, its reset", prepare_network, network},
	{"service", "the same, and 20 opened files, 1 of them of the set", prepare_network,
	 service},
	{"socket", "socket(2)", NULL, make_socket},
	{"bind", "socket(2) and bind(2)", NULL, bind_socket},
	{0},
};
