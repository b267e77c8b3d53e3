/* A disk that fails: loaded before the C library, it stands before every call that writes.
 *
 * Calls about what lies below a folder are counted, once that is asked for (`faults_arm`); the one with
 * a number, or all from it on, fail or never come back. Python, SQLite, DuckDB and polars all
 * call the C library for it. For tests of Linux; nothing of it is ever installed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { GROWS = 1, CHANGES = 2, LONGEST = 2 * PATH_MAX };

static char below[PATH_MAX];
static atomic_long counted;
static long struck;   /* the number of the call; 0 only counts */
static int code;      /* the error, or 0: the process is killed */
static int onward;    /* every later call fails likewise, as on a disk that stays full */
static int told = -1; /* a line per call is written there */

void faults_arm(const char *folder, long number, int error, int stays, int descriptor) {
    counted = 0;
    struck = number;
    code = error;
    onward = stays;
    told = descriptor;
    strncpy(below, folder, sizeof below - 1);
}

static int is_below(const char *path) {
    size_t length = strlen(below);
    return length && strncmp(path, below, length) == 0 && (path[length] == '/' || !path[length]);
}

static void find_open(int descriptor, char *found) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, found, PATH_MAX - 1);
    found[length > 0 ? length : 0] = 0;
}

static void find_path(int folder, const char *path, char *found) {
    if (path[0] == '/') {
        strncpy(found, path, PATH_MAX - 1);
        found[PATH_MAX - 1] = 0;
        return;
    }
    if (folder != AT_FDCWD)
        find_open(folder, found);
    else if (syscall(SYS_getcwd, found, (size_t)PATH_MAX) < 0)
        found[0] = 0;
    size_t length = strlen(found);
    snprintf(found + length, LONGEST - length, "/%s", path);
}

static void die(void) { syscall(SYS_kill, syscall(SYS_getpid), SIGKILL); }

/* Whether a call fails; `half` is a write of which half is done before the process is killed. */
static int strikes(const char *name, const char *path, int kind, int half) {
    if (!below[0] || !is_below(path))
        return 0;
    long number = ++counted;
    if (told >= 0) {
        char line[LONGEST + 64];
        int length = snprintf(line, sizeof line, "%s %s\n", name, path);
        syscall(SYS_write, told, line, (size_t)length);
    }
    if (!struck || number < struck || (number > struck && !onward))
        return 0;
    if (code == 0) {
        if (half)
            return 1;
        die();
    }
    if (code == ENOSPC && !(kind & GROWS))
        return 0;
    errno = code;
    return 1;
}

#define REAL(name, result, ...)                                                                    \
    static result (*real)(__VA_ARGS__);                                                            \
    if (!real)                                                                                     \
        real = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

static int open_at(const char *name, int folder, const char *path, int flags) {
    char found[LONGEST];
    if (!(flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)))
        return 0;
    int kind = CHANGES | (flags & (O_CREAT | __O_TMPFILE) ? GROWS : 0);
    find_path(folder, path, found);
    return strikes(name, found, kind, 0);
}

#define OPEN(name)                                                                                 \
    int name(const char *path, int flags, ...) {                                                   \
        va_list more;                                                                              \
        va_start(more, flags);                                                                     \
        int mode = va_arg(more, int);                                                              \
        va_end(more);                                                                              \
        REAL(name, int, const char *, int, ...);                                                   \
        return open_at("open", AT_FDCWD, path, flags) ? -1 : real(path, flags, mode);              \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                               \
    int name(int folder, const char *path, int flags, ...) {                                       \
        va_list more;                                                                              \
        va_start(more, flags);                                                                     \
        int mode = va_arg(more, int);                                                              \
        va_end(more);                                                                              \
        REAL(name, int, int, const char *, int, ...);                                              \
        return open_at("open", folder, path, flags) ? -1 : real(folder, path, flags, mode);        \
    }
OPENAT(openat)
OPENAT(openat64)

#define FOPEN(name)                                                                                \
    FILE *name(const char *path, const char *mode) {                                               \
        REAL(name, FILE *, const char *, const char *);                                            \
        int flags = mode[0] == 'r' ? (strchr(mode, '+') ? O_RDWR : 0) : O_WRONLY | O_CREAT;        \
        return open_at("open", AT_FDCWD, path, flags) ? NULL : real(path, mode);                   \
    }
FOPEN(fopen)
FOPEN(fopen64)

static int on_open(const char *name, int descriptor, int kind, int half) {
    char found[LONGEST];
    if (!below[0])
        return 0;
    find_open(descriptor, found);
    return strikes(name, found, kind, half);
}

ssize_t write(int descriptor, const void *bytes, size_t size) {
    REAL(write, ssize_t, int, const void *, size_t);
    if (!on_open("write", descriptor, GROWS | CHANGES, 1))
        return real(descriptor, bytes, size);
    if (code == 0) {
        real(descriptor, bytes, size / 2);
        die();
    }
    return -1;
}

#define PWRITE(name)                                                                               \
    ssize_t name(int descriptor, const void *bytes, size_t size, off_t offset) {                   \
        REAL(name, ssize_t, int, const void *, size_t, off_t);                                     \
        if (!on_open("write", descriptor, GROWS | CHANGES, 1))                                     \
            return real(descriptor, bytes, size, offset);                                          \
        if (code == 0) {                                                                           \
            real(descriptor, bytes, size / 2, offset);                                             \
            die();                                                                                 \
        }                                                                                          \
        return -1;                                                                                 \
    }
PWRITE(pwrite)
PWRITE(pwrite64)

#define ON_OPEN(name, said, kind, result, declared, given)                                         \
    result name declared {                                                                         \
        REAL(name, result, TYPES declared);                                                        \
        return on_open(said, descriptor, kind, 0) ? -1 : real given;                               \
    }
#define TYPES(...) __VA_ARGS__

ON_OPEN(writev, "write", GROWS | CHANGES, ssize_t,
        (int descriptor, const struct iovec *parts, int many), (descriptor, parts, many))
ON_OPEN(sendfile, "write", GROWS | CHANGES, ssize_t,
        (int descriptor, int from, off_t *offset, size_t size), (descriptor, from, offset, size))
ON_OPEN(sendfile64, "write", GROWS | CHANGES, ssize_t,
        (int descriptor, int from, off_t *offset, size_t size), (descriptor, from, offset, size))
ON_OPEN(fsync, "fsync", GROWS | CHANGES, int, (int descriptor), (descriptor))
ON_OPEN(fdatasync, "fsync", GROWS | CHANGES, int, (int descriptor), (descriptor))
ON_OPEN(ftruncate, "truncate", CHANGES, int, (int descriptor, off_t size), (descriptor, size))
ON_OPEN(ftruncate64, "truncate", CHANGES, int, (int descriptor, off_t size), (descriptor, size))
ON_OPEN(fchmod, "chmod", CHANGES, int, (int descriptor, mode_t mode), (descriptor, mode))

ssize_t copy_file_range(int from, off_t *start, int descriptor, off_t *offset, size_t size,
                        unsigned flags) {
    REAL(copy_file_range, ssize_t, int, off_t *, int, off_t *, size_t, unsigned);
    return on_open("write", descriptor, GROWS | CHANGES, 0)
               ? -1 : real(from, start, descriptor, offset, size, flags);
}

int posix_fallocate(int descriptor, off_t start, off_t size) {
    REAL(posix_fallocate, int, int, off_t, off_t);
    return on_open("allocate", descriptor, GROWS | CHANGES, 0) ? errno
                                                               : real(descriptor, start, size);
}

static int at_path(const char *name, int folder, const char *path, int kind) {
    char found[LONGEST];
    if (!below[0])
        return 0;
    find_path(folder, path, found);
    return strikes(name, found, kind, 0);
}

#define AT_PATH(name, said, kind, folder, declared, given)                                         \
    int name declared {                                                                            \
        REAL(name, int, TYPES declared);                                                           \
        return at_path(said, folder, path, kind) ? -1 : real given;                                \
    }
AT_PATH(mkdir, "mkdir", GROWS | CHANGES, AT_FDCWD, (const char *path, mode_t mode), (path, mode))
AT_PATH(mkdirat, "mkdir", GROWS | CHANGES, in, (int in, const char *path, mode_t mode),
        (in, path, mode))
AT_PATH(rmdir, "rmdir", CHANGES, AT_FDCWD, (const char *path), (path))
AT_PATH(unlink, "unlink", CHANGES, AT_FDCWD, (const char *path), (path))
AT_PATH(unlinkat, "unlink", CHANGES, in, (int in, const char *path, int flags), (in, path, flags))
AT_PATH(truncate, "truncate", CHANGES, AT_FDCWD, (const char *path, off_t size), (path, size))
AT_PATH(truncate64, "truncate", CHANGES, AT_FDCWD, (const char *path, off_t size), (path, size))
AT_PATH(chmod, "chmod", CHANGES, AT_FDCWD, (const char *path, mode_t mode), (path, mode))
AT_PATH(fchmodat, "chmod", CHANGES, in, (int in, const char *path, mode_t mode, int flags),
        (in, path, mode, flags))
AT_PATH(rename, "rename", CHANGES, AT_FDCWD, (const char *path, const char *to), (path, to))
AT_PATH(renameat, "rename", CHANGES, in, (int in, const char *path, int out, const char *to),
        (in, path, out, to))
AT_PATH(renameat2, "exchange", CHANGES, in,
        (int in, const char *path, int out, const char *to, unsigned flags),
        (in, path, out, to, flags))
AT_PATH(link, "link", GROWS | CHANGES, AT_FDCWD, (const char *path, const char *to), (path, to))
