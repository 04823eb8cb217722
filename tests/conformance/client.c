/* A client of the binary protocol that knows the twelve plain types only (see backends/socket_backend/protocol.py).
 *
 *     client PATH STEPS
 *
 * asks for health and spaces, then takes the first legal action STEPS times, starts the next episode after an end,
 * and prints the number of episodes that ended and a checksum (FNV-1a) of every answer's body.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { RESET_REQ = 1, RESET_RESP, STEP_REQ, STEP_RESP, HEALTH_REQ = 9, HEALTH_RESP, SPACES_REQ, SPACES_RESP };
enum { HEADER = 9, TAIL = 17, DONE = 4, LARGEST = 1 << 20 };

static uint8_t body[LARGEST];
static uint32_t last_id;
static uint64_t checksum = 14695981039346656037u;

static void fail(const char *what)
{
    fprintf(stderr, "client: %s\n", what);
    exit(1);
}

static void put32(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

static uint32_t get32(const uint8_t *from)
{
    return from[0] | from[1] << 8 | from[2] << 16 | (uint32_t)from[3] << 24;
}

static void read_all(int wire, uint8_t *to, size_t count)
{
    while (count > 0) {
        ssize_t got = read(wire, to, count);
        if (got <= 0)
            fail("the server closed the connection");
        to += got;
        count -= (size_t)got;
    }
}

/* Sends a request and receives the answer of the wanted type into `body`; returns its length. */
static uint32_t ask(int wire, uint8_t type, const uint8_t *request, uint32_t length, uint8_t wanted)
{
    uint8_t frame[HEADER + 4], head[HEADER];

    frame[0] = type;
    put32(frame + 1, ++last_id);
    put32(frame + 5, length);
    if (length > 0)
        memcpy(frame + HEADER, request, length);
    if (write(wire, frame, HEADER + length) != (ssize_t)(HEADER + length))
        fail("the request could not be sent");
    read_all(wire, head, HEADER);
    if (head[0] != wanted)
        fail("an answer has another type");
    if (get32(head + 1) != last_id)
        fail("an answer has another id");
    uint32_t size = get32(head + 5);
    if (size > LARGEST)
        fail("an answer is too long");
    read_all(wire, body, size);
    for (uint32_t i = 0; i < size; i++)
        checksum = (checksum ^ body[i]) * 1099511628211u;
    return size;
}

/* Begins an episode; returns the length of a result. */
static uint32_t reset(int wire)
{
    return ask(wire, RESET_REQ, NULL, 0, RESET_RESP);
}

static uint32_t first_legal(const uint8_t *mask, uint32_t actions)
{
    for (uint32_t action = 0; action < actions; action++)
        if (mask[action])
            return action;
    fail("no action is legal");
    return 0;
}

int main(int count, char **words)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int wire = socket(AF_UNIX, SOCK_STREAM, 0);
    long steps, episodes = 0;

    if (count != 3 || strlen(words[1]) >= sizeof address.sun_path)
        fail("usage: client PATH STEPS");
    strcpy(address.sun_path, words[1]);
    steps = atol(words[2]);
    if (wire < 0 || connect(wire, (struct sockaddr *)&address, sizeof address) != 0)
        fail("there is no server");

    if (ask(wire, HEALTH_REQ, NULL, 0, HEALTH_RESP) != 1 || body[0] != 1)
        fail("the server is not healthy");
    if (ask(wire, SPACES_REQ, NULL, 0, SPACES_RESP) != 8)
        fail("spaces have 8 bytes");
    uint32_t numbers = get32(body), actions = get32(body + 4);
    uint32_t size = reset(wire);
    if (size != 4 * numbers + actions + TAIL)
        fail("a result has another length than its spaces promise");
    for (long step = 0; step < steps; step++) {
        uint8_t action[4];
        put32(action, first_legal(body + 4 * numbers, actions));
        if (ask(wire, STEP_REQ, action, sizeof action, STEP_RESP) != size)
            fail("a step's result has another length than a reset's");
        if (body[size - TAIL + DONE] != 0) {
            episodes++;
            reset(wire);
        }
    }
    printf("%ld %016llx\n", episodes, (unsigned long long)checksum);
    close(wire);
    return 0;
}
