// SPDX-License-Identifier: Apache-2.0
#include "core/base/memorylimit.h"

#include "core/base/bytesize.h"
#include "core/base/failure.h"
#include "core/base/memoryaccount.h"
#include "core/base/memoryreserve.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <sys/resource.h>

namespace retro::base
{

namespace
{

namespace fs = std::filesystem;

constexpr std::uint64_t kNoBound = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kNoAllowance = std::numeric_limits<std::int64_t>::max();

/// 0 = nobody chose one.
std::atomic<std::uint64_t> chosenBytes{0};

/// What the account may reach on this thread.
thread_local std::int64_t mostOnThread = kNoAllowance;

/// The number at the start of a small file; no bound where there is none ("max").
std::uint64_t numberIn(const fs::path& file)
{
    std::ifstream in(file);
    std::uint64_t number = 0;
    return in >> number ? std::min(number, kNoBound) : kNoBound;
}

/// The number behind a word in a file of lines "word number …"; `fallback` where it is not there.
std::uint64_t fieldIn(const fs::path& file, const std::string& word, std::uint64_t fallback)
{
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
        std::istringstream fields(line);
        std::string name;
        std::uint64_t number = 0;
        if (fields >> name >> number && name == word) {
            return number;
        }
    }
    return fallback;
}

/// Names of the files of one kind of control groups.
struct GroupFiles
{
    const char* most;
    const char* used;
    const char* reclaimable; ///< word in memory.stat: of what is used, what the system gives back by itself
};

constexpr GroupFiles kFirstVersion{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};
constexpr GroupFiles kSecondVersion{"memory.max", "memory.current", "inactive_file"};

void boundByGroup(MachineMemory& memory, const fs::path& group, const GroupFiles& files)
{
    const std::uint64_t most = numberIn(group / files.most);
    if (most >= memory.total) {
        return;
    }
    const std::uint64_t used = numberIn(group / files.used);
    const std::uint64_t reclaimable = fieldIn(group / "memory.stat", files.reclaimable, 0);
    const std::uint64_t held = used - std::min(used, reclaimable);
    memory.total = most;
    memory.available = std::min(memory.available, most - std::min(most, held));
}

/// A group and all around it bound the process. In a container the folder may show the group itself as its top.
void boundByGroups(MachineMemory& memory, const fs::path& top, const std::string& group, const GroupFiles& files)
{
    for (fs::path inner = fs::path(group).relative_path(); !inner.empty(); inner = inner.parent_path()) {
        boundByGroup(memory, top / inner, files);
    }
    boundByGroup(memory, top, files);
}

void boundByGroups(MachineMemory& memory, const fs::path& root)
{
    std::ifstream groups(root / "proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) { // "4:memory:/group", "0::/group"
        const std::size_t first = line.find(':');
        const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos) {
            continue;
        }
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const std::string group = line.substr(second + 1);
        if (controllers.empty()) {
            boundByGroups(memory, root / "sys/fs/cgroup", group, kSecondVersion);
        } else if (controllers == "memory") {
            boundByGroups(memory, root / "sys/fs/cgroup/memory", group, kFirstVersion);
        }
    }
}

void boundByProcess(MachineMemory& memory)
{
    rlimit most{};
    if (getrlimit(RLIMIT_AS, &most) == 0 && most.rlim_cur != RLIM_INFINITY) {
        memory.total = std::min<std::uint64_t>(memory.total, most.rlim_cur);
    }
}

std::uint64_t liveBytes()
{
    return static_cast<std::uint64_t>(std::max<std::int64_t>(MemoryAccount::tensors().live(), 0));
}

std::string remedyText() { return "allow more (--memory SIZE, or Preferences in the window), or give a smaller input"; }

} // namespace

MachineMemory machineMemory(const fs::path& root)
{
    constexpr std::uint64_t kKibi = 1024;
    const fs::path info = root / "proc/meminfo";
    MachineMemory memory{kNoBound, kNoBound};
    memory.total = fieldIn(info, "MemTotal:", kNoBound / kKibi) * kKibi;
    memory.available = fieldIn(info, "MemAvailable:", memory.total / kKibi) * kKibi;
    boundByGroups(memory, root);
    boundByProcess(memory);
    return memory;
}

std::uint64_t MemoryLimit::bytes()
{
    static const std::uint64_t usual = machineMemory().total / 100 * kUsualPercent;
    const std::uint64_t chosen = chosenBytes.load(std::memory_order_relaxed);
    return chosen != 0 ? chosen : usual;
}

void MemoryLimit::choose(std::optional<std::uint64_t> bytes)
{
    chosenBytes.store(bytes ? std::max<std::uint64_t>(*bytes, 1) : 0, std::memory_order_relaxed);
}

bool MemoryLimit::isChosen() { return chosenBytes.load(std::memory_order_relaxed) != 0; }

std::uint64_t MemoryLimit::beforeRun() { return isChosen() ? bytes() : std::min(bytes(), kUsualBeforeRun); }

MemoryAllowance::MemoryAllowance(std::optional<std::uint64_t> bytes) : m_before(mostOnThread)
{
    if (!bytes) {
        mostOnThread = kNoAllowance;
        return;
    }
    const std::int64_t live = MemoryAccount::tensors().live();
    const auto more = static_cast<std::int64_t>(std::min(*bytes, kNoBound));
    mostOnThread = std::min(m_before, more > kNoAllowance - live ? kNoAllowance : live + more);
}

MemoryAllowance::~MemoryAllowance() { mostOnThread = m_before; }

std::optional<Error> whyNoMemory(std::uint64_t bytes)
{
    if (MemoryReserve::hasEnded() && !MemoryReserve::renew()) [[unlikely]] {
        return outOfMemory(bytes);
    }
    const std::uint64_t live = liveBytes();
    const std::uint64_t most = MemoryLimit::bytes();
    const auto mostHere = static_cast<std::uint64_t>(std::max<std::int64_t>(mostOnThread, 0));
    const std::uint64_t bound = std::min(most, mostHere);
    if (live <= bound && bytes <= bound - live) {
        return std::nullopt;
    }
    const std::uint64_t left = bound - std::min(bound, live);
    const bool looksEqual = bytesText(left) == bytesText(bytes);
    const std::string rest = looksEqual ? fmt::format("{} B", left) : bytesText(left);
    const std::string needed = looksEqual ? fmt::format("{} B", bytes) : bytesText(bytes);
    const std::string lacking = mostHere < most
                                    ? fmt::format("{} of what may be made before a run are left", rest)
                                    : fmt::format("{} of the {} that may be used are left", rest, bytesText(most));
    return memoryError(fmt::format("{} are needed, but {}; {}", needed, lacking, remedyText()));
}

void claimMemory(std::uint64_t bytes)
{
    if (auto error = whyNoMemory(bytes)) [[unlikely]] {
        throw Failure(std::move(*error));
    }
}

void requireRoom(std::size_t bytes)
{
    if (!MemoryReserve::hasRoom(bytes)) [[unlikely]] {
        throw Failure(outOfMemory(bytes));
    }
}

Error outOfMemory(std::optional<std::uint64_t> needed)
{
    const std::string wanted = needed ? fmt::format("{} are needed, but ", bytesText(*needed)) : "no memory is left: ";
    return memoryError(
        fmt::format("{}the system has {} left and tensors hold {}; close other programs, or give a smaller input",
                    wanted, bytesText(machineMemory().available), bytesText(liveBytes())));
}

} // namespace retro::base
