/* SPDX-License-Identifier: Apache-2.0
 *
 * Loaded before a program (LD_PRELOAD), this library makes one allocation or one write of it fail, for every place in
 * the program where that can happen. It forks there: the child goes on with the failure, the parent waits for it, looks
 * at how it ended, and goes on as if nothing had been. So one run of the program tries all of them.
 *
 * Nothing fails before main() begins or after it ends: what a loader or a static object does is not the program's.
 *
 * Environment:
 *   RETRO_FAULT_KIND       "allocation", or "end" (from one allocation on there is no more memory than what is given
 *                          back), or "write" (no space), or "short" (half of a write, then no space)
 *   RETRO_FAULT_LOG        a file; each child adds a line "number status" (status as a shell says it, 134 = signal 6);
 *                          "number alone" where a child would wait for ever: the program has other threads, or a
 *                          mutex of SQLite, whose owner would be another one
 *   RETRO_FAULT_STACKS     1 = only the first time that a chain of callers is met; 0 = every time
 *   RETRO_FAULT_SEEN       a file of chains that count as met already: those of other runs. Addresses must not be random
 *   RETRO_FAULT_SEEN_AFTER a file that gets those and the chains of this run
 *   RETRO_FAULT_STEP       try only every n-th of those
 *   RETRO_FAULT_FIRST      the number of the first that is tried
 *   RETRO_FAULT_OUTPUT     a folder that the program writes to; after each child its files are compared with those of
 *                          RETRO_FAULT_REFERENCE by size and removed. One that differs is added to the log as
 *                          "number half FILE"; .json, .png and .svg may differ when they have their end: a library that
 *                          draws may do without what it did not get. .npy and .csv must have the same bytes: "number
 *                          other FILE"
 *   RETRO_FAULT_ALONE      1 = no children: the program itself fails at RETRO_FAULT_FIRST; for several threads
 *   RETRO_FAULT_SECONDS    tries end after so many seconds (unless told, ten minutes)
 * At the end the log gets a line "total N": how many places there were.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { depth = 24, tableSize = 1 << 20 };

static int isArmed = 0;
static int isChild = 0;
static int hasFailed = 0; /* in a child: writes go on failing, as on a full disk */
static __thread int isInside = 0;
static long number = 0;
static long step = 1;
static long first = 0;
static int byStacks = 1;
static int isAlone = 0;
static time_t end = 0;
static enum { kindNone, kindAllocation, kindEnd, kindWrite, kindShort } kind = kindNone;
static long room = 0; /* kindEnd, once it has failed: bytes that were given back and not taken again */
static char logFile[4096];
static char outputFolder[2048];
static char referenceFolder[2048];
static char seenFile[2048];
static uint64_t seen[tableSize];

static void *(*realMalloc)(size_t);
static void *(*realCalloc)(size_t, size_t);
static void *(*realRealloc)(void *, size_t);
static int (*realPosixMemalign)(void **, size_t, size_t);
static void *(*realAlignedAlloc)(size_t, size_t);
static ssize_t (*realWrite)(int, const void *, size_t);
static ssize_t (*realPwrite)(int, const void *, size_t, off_t);
static ssize_t (*realWritev)(int, const struct iovec *, int);
static int (*realFsync)(int);
static int (*realSyncfs)(int);
static void (*realFree)(void *);

/* dlsym may allocate before malloc is known: a little memory of our own serves it. */
static char early[1 << 16];
static size_t earlyUsed = 0;

static void *earlyMemory(size_t size)
{
    const size_t at = (earlyUsed + 15) & ~(size_t)15;
    if (at + size > sizeof early) {
        _exit(125);
    }
    earlyUsed = at + size;
    return early + at;
}

static int isEarly(const void *memory)
{
    return (const char *)memory >= early && (const char *)memory < early + sizeof early;
}

static void resolve(void)
{
    static int isResolving = 0;
    if (realMalloc || isResolving) {
        return;
    }
    isResolving = 1;
    realCalloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
    realRealloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
    realPosixMemalign = (int (*)(void **, size_t, size_t))dlsym(RTLD_NEXT, "posix_memalign");
    realAlignedAlloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "aligned_alloc");
    realWrite = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    realPwrite = (ssize_t(*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite");
    realWritev = (ssize_t(*)(int, const struct iovec *, int))dlsym(RTLD_NEXT, "writev");
    realFsync = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    realSyncfs = (int (*)(int))dlsym(RTLD_NEXT, "syncfs");
    realFree = (void (*)(void *))dlsym(RTLD_NEXT, "free");
    realMalloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    isResolving = 0;
}

static void note(const char *format, ...)
{
    char line[4400];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    const int file = open(logFile, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0 || length < 0 || realWrite(file, line, (size_t)length) != length) {
        _exit(125);
    }
    close(file);
}

static char lastByte(const char *path, off_t size)
{
    char byte = 0;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        (void)!pread(file, &byte, 1, size > 1 ? size - 2 : 0);
        close(file);
    }
    return byte;
}

/* The last byte but one that a whole file of this kind has; 0 where its kind says nothing. */
static char endOf(const char *path)
{
    static const struct { const char *ending; char byte; } kinds[] = {{".json", '}'}, {".svg", '>'}, {".png", '`'}};
    const size_t length = strlen(path);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; ++i) {
        const size_t size = strlen(kinds[i].ending);
        if (length > size && !strcmp(path + length - size, kinds[i].ending)) {
            return kinds[i].byte;
        }
    }
    return 0;
}

/* 1 for results, whose bytes are the same in every run. */
static int isResult(const char *path)
{
    const size_t length = strlen(path);
    return length > 4 && (!strcmp(path + length - 4, ".npy") || !strcmp(path + length - 4, ".csv"));
}

static int haveSameBytes(const char *path, const char *twin)
{
    const int a = open(path, O_RDONLY | O_CLOEXEC);
    const int b = open(twin, O_RDONLY | O_CLOEXEC);
    int isSame = a >= 0 && b >= 0;
    char left[4096];
    char right[4096];
    for (ssize_t count = 1; isSame && count > 0;) {
        count = read(a, left, sizeof left);
        isSame = count == read(b, right, sizeof right) && count >= 0 && !memcmp(left, right, (size_t)count);
    }
    close(a);
    close(b);
    return isSame;
}

/* Removes the files below `folder`; says those that are not as they are after a run that nothing disturbed. */
static void compareAndRemove(const char *folder, const char *reference, int isCompared)
{
    DIR *entries = opendir(folder);
    if (!entries) {
        return;
    }
    for (struct dirent *entry; (entry = readdir(entries));) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) {
            continue;
        }
        char path[4096];
        char twin[4096];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        snprintf(twin, sizeof twin, "%s/%s", reference, entry->d_name);
        struct stat is;
        struct stat shall;
        if (lstat(path, &is) != 0) {
            continue;
        }
        if (S_ISDIR(is.st_mode)) {
            compareAndRemove(path, twin, isCompared);
            continue;
        }
        const char ending = endOf(path);
        const int isHidden = entry->d_name[0] == '.';
        if (isCompared && isHidden && strstr(entry->d_name, ".tmp")) {
            note("%ld left %s\n", number, path);
        } else if (isCompared && !isHidden && stat(twin, &shall) != 0) {
            note("%ld unknown %s\n", number, path);
        } else if (isCompared && !isHidden && is.st_size != shall.st_size &&
                   (!ending || lastByte(path, is.st_size) != ending)) {
            note("%ld half %s\n", number, path);
        } else if (isCompared && !isHidden && isResult(path) && !haveSameBytes(path, twin)) {
            note("%ld other %s\n", number, path);
        }
        unlink(path);
    }
    closedir(entries);
}

/* Reads or writes the table of chains. */
static void moveSeen(const char *path, int writes)
{
    FILE *file = path && path[0] ? fopen(path, writes ? "wb" : "rb") : NULL;
    if (file) {
        const size_t count = writes ? fwrite(seen, sizeof seen[0], tableSize, file)
                                    : fread(seen, sizeof seen[0], tableSize, file);
        if (fclose(file) != 0 || count != tableSize) {
            _exit(125);
        }
    }
}

static void disarm(void)
{
    const int wasArmed = isArmed;
    isArmed = 0;
    if (wasArmed && !isChild) {
        moveSeen(isAlone ? "" : seenFile, 1);
        note("total %ld\n", number);
    }
}

static uint64_t stackHash(void)
{
    void *frames[depth];
    const int count = backtrace(frames, depth);
    uint64_t hash = 1469598103934665603ULL;
    for (int i = 2; i < count; ++i) {
        hash = (hash ^ (uint64_t)(uintptr_t)frames[i]) * 1099511628211ULL;
    }
    return hash ? hash : 1;
}

static int isNew(uint64_t hash)
{
    for (size_t i = hash % tableSize;; i = (i + 1) % tableSize) {
        if (seen[i] == hash) {
            return 0;
        }
        if (seen[i] == 0) {
            seen[i] = hash;
            return 1;
        }
    }
}

/* 1 while a function of a library of such a name is being called. */
static int isInLibrary(const char *name)
{
    void *frames[depth];
    const int count = backtrace(frames, depth);
    for (int i = 2; i < count; ++i) {
        Dl_info where;
        if (dladdr(frames[i], &where) && where.dli_fname && strstr(where.dli_fname, name)) {
            return 1;
        }
    }
    return 0;
}

/* Libraries that end the process themselves, or read what they did not get, when there is no memory: the pools of OpenMP,
 * and oneDNN. They are passed over; the engine asks for room before it calls oneDNN. */
static int isOfSuchLibrary(void) { return isInLibrary("libgomp") || isInLibrary("libdnnl"); }

/* True while the program has other threads: a child would have only the one that forked, and might wait for them. */
static int hasThreads(void)
{
    DIR *entries = opendir("/proc/self/task");
    int count = 0;
    if (entries) {
        while (readdir(entries)) {
            ++count;
        }
        closedir(entries);
    }
    return count > 3; /* ".", ".." and this one */
}

/* 1 in a child that is to fail here. */
static int failsHere(int isWanted)
{
    if (!isArmed || isChild || isInside || !isWanted) {
        return 0;
    }
    isInside = 1;
    const int saved = errno;
    int fails = 0;
    if (time(NULL) > end) {
        disarm();
    } else if (!byStacks || isNew(stackHash())) {
        const long here = number++;
        const int isDue = isAlone ? here == first : here >= first && (here - first) % step == 0;
        if (!isDue || isOfSuchLibrary()) {
            fails = 0;
        } else if (isAlone) {
            isChild = 1;
            fails = 1;
        } else if (hasThreads() || isInLibrary("libsqlite3")) {
            note("%ld alone\n", here);
        } else {
            const pid_t child = fork();
            if (child == 0) {
                isChild = 1;
                fails = 1;
                /* What the run prints is not looked at; its errors are. */
                const int nowhere = open("/dev/null", O_WRONLY);
                dup2(nowhere, 1);
                if (!getenv("RETRO_FAULT_LOUD")) {
                    dup2(nowhere, 2);
                }
                close(nowhere);
                /* What goes round and round for lack of memory is ended by a timer that a child does not have. */
                const struct rlimit seconds = {5, 5};
                setrlimit(RLIMIT_CPU, &seconds);
                alarm(60);
            } else if (child > 0) {
                int status = 0;
                waitpid(child, &status, 0);
                note("%ld %d\n", here, WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
                if (outputFolder[0]) {
                    number = here;
                    compareAndRemove(outputFolder, referenceFolder, 1);
                    number = here + 1;
                }
            }
        }
    }
    errno = saved;
    isInside = 0;
    if (fails) {
        hasFailed = 1;
    }
    return fails;
}

/* 1 where a block of so many bytes is not given. */
static int failsToAllocate(size_t size)
{
    if (kind == kindEnd && isChild && hasFailed) {
        return room < (long)size;
    }
    return failsHere(kind == kindAllocation || kind == kindEnd);
}

/* Counts what is taken and given back once memory has ended. */
static void *taken(void *memory)
{
    if (kind == kindEnd && hasFailed) {
        room -= (long)malloc_usable_size(memory);
    }
    return memory;
}

static void *given(void *memory)
{
    if (kind == kindEnd && hasFailed) {
        room += (long)malloc_usable_size(memory);
    }
    return memory;
}

void *malloc(size_t size)
{
    resolve();
    if (!realMalloc) {
        return earlyMemory(size);
    }
    if (failsToAllocate(size)) {
        errno = ENOMEM;
        return NULL;
    }
    return taken(realMalloc(size));
}

void free(void *memory)
{
    if (!isEarly(memory)) {
        resolve();
        realFree(given(memory));
    }
}

void *calloc(size_t count, size_t size)
{
    resolve();
    if (!realCalloc) {
        return earlyMemory(count * size);
    }
    if (failsToAllocate(count * size)) {
        errno = ENOMEM;
        return NULL;
    }
    return taken(realCalloc(count, size));
}

void *realloc(void *memory, size_t size)
{
    resolve();
    if (isEarly(memory)) {
        void *moved = malloc(size);
        if (moved) {
            const size_t rest = (size_t)(early + sizeof early - (char *)memory);
            memcpy(moved, memory, size < rest ? size : rest);
        }
        return moved;
    }
    if (failsToAllocate(size)) {
        errno = ENOMEM;
        return NULL;
    }
    return taken(realRealloc(given(memory), size));
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    resolve();
    if (failsToAllocate(size)) {
        return ENOMEM;
    }
    const int status = realPosixMemalign(memory, alignment, size);
    taken(status == 0 ? *memory : NULL);
    return status;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    resolve();
    if (failsToAllocate(size)) {
        errno = ENOMEM;
        return NULL;
    }
    return taken(realAlignedAlloc(alignment, size));
}

/* A write to a file; terminals, pipes and standard output are left alone. */
static int isToFile(int file)
{
    struct stat is;
    return (kind == kindWrite || kind == kindShort) && isArmed && file > 2 && fstat(file, &is) == 0 &&
           S_ISREG(is.st_mode);
}

static int isFull(int file) { return isChild && hasFailed && isToFile(file); }

ssize_t write(int file, const void *data, size_t size)
{
    resolve();
    if (isFull(file)) {
        errno = ENOSPC;
        return -1;
    }
    if (failsHere(isToFile(file))) {
        if (kind == kindShort && size > 1) {
            return realWrite(file, data, size / 2);
        }
        errno = ENOSPC;
        return -1;
    }
    return realWrite(file, data, size);
}

ssize_t pwrite(int file, const void *data, size_t size, off_t at)
{
    resolve();
    if (isFull(file)) {
        errno = ENOSPC;
        return -1;
    }
    if (failsHere(isToFile(file))) {
        if (kind == kindShort && size > 1) {
            return realPwrite(file, data, size / 2, at);
        }
        errno = ENOSPC;
        return -1;
    }
    return realPwrite(file, data, size, at);
}

ssize_t pwrite64(int file, const void *data, size_t size, off_t at) { return pwrite(file, data, size, at); }

ssize_t writev(int file, const struct iovec *parts, int count)
{
    resolve();
    if (isFull(file) || failsHere(isToFile(file))) {
        errno = ENOSPC;
        return -1;
    }
    return realWritev(file, parts, count);
}

int fsync(int file)
{
    resolve();
    if (isFull(file) || failsHere(isToFile(file))) {
        errno = EIO;
        return -1;
    }
    return realFsync(file);
}

int syncfs(int file)
{
    resolve();
    if (isFull(file) || failsHere(isToFile(file))) {
        errno = EIO;
        return -1;
    }
    return realSyncfs(file);
}

static int (*realMain)(int, char **, char **);

static long numberOf(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 10) : otherwise;
}

static int armedMain(int argc, char **argv, char **environment)
{
    void *frames[2];
    backtrace(frames, 2); /* loads what it needs */
    const char *text = getenv("RETRO_FAULT_KIND");
    kind = !text                       ? kindNone
           : !strcmp(text, "allocation") ? kindAllocation
           : !strcmp(text, "end")        ? kindEnd
           : !strcmp(text, "write")      ? kindWrite
                                         : kindShort;
    step = numberOf("RETRO_FAULT_STEP", 1);
    first = numberOf("RETRO_FAULT_FIRST", 0);
    byStacks = (int)numberOf("RETRO_FAULT_STACKS", 1);
    isAlone = (int)numberOf("RETRO_FAULT_ALONE", 0);
    end = time(NULL) + numberOf("RETRO_FAULT_SECONDS", 600);
    const char *log = getenv("RETRO_FAULT_LOG");
    const char *output = getenv("RETRO_FAULT_OUTPUT");
    const char *reference = getenv("RETRO_FAULT_REFERENCE");
    snprintf(logFile, sizeof logFile, "%s", log ? log : "/dev/null");
    snprintf(outputFolder, sizeof outputFolder, "%s", output ? output : "");
    snprintf(referenceFolder, sizeof referenceFolder, "%s", reference ? reference : "");
    const char *after = getenv("RETRO_FAULT_SEEN_AFTER");
    snprintf(seenFile, sizeof seenFile, "%s", after ? after : "");
    moveSeen(getenv("RETRO_FAULT_SEEN"), 0);
    unsetenv("LD_PRELOAD"); /* programs that this one starts are not disturbed */
    atexit(disarm);
    isArmed = kind != kindNone;
    const int result = realMain(argc, argv, environment);
    disarm();
    return result;
}

int __libc_start_main(int (*program)(int, char **, char **), int argc, char **argv, void (*begin)(void),
                      void (*finish)(void), void (*loader)(void), void *stack)
{
    resolve();
    int (*start)(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void), void (*)(void), void *) =
        (int (*)(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void), void (*)(void),
                 void *))dlsym(RTLD_NEXT, "__libc_start_main");
    realMain = program;
    return start(armedMain, argc, argv, begin, finish, loader, stack);
}
