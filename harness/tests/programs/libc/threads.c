/* SPDX-License-Identifier: BSD-2-Clause */
/* Asks for what is not there: a thread, a socket; then waits for what cannot come. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static void *other(void *nothing)
{
    return nothing;
}

int main(void)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_t thread;

    printf("%s\n", strerror(pthread_create(&thread, NULL, other, NULL)));
    printf("%d %d\n", socket(AF_INET, SOCK_STREAM, 0), socket(AF_INET, SOCK_DGRAM, 0));
    fflush(stdout);
    pthread_mutex_lock(&lock);
    pthread_mutex_lock(&lock);
    return 0;
}
