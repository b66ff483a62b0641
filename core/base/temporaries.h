// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace retro::base
{

/// The name of a file that is being written, as long as this object lives: removeTemporaries() finds it. The name of a
/// file beyond the most that are written at once is not kept; what stays of it is removed by removeLeftovers.
class PendingTemporary
{
public:
    explicit PendingTemporary(std::string path);
    ~PendingTemporary();
    PendingTemporary(const PendingTemporary&) = delete;
    PendingTemporary& operator=(const PendingTemporary&) = delete;

private:
    std::string m_path;
    std::size_t m_slot = 0;
};

/// Whether this process writes a temporary file of that name (without folder) now.
[[nodiscard]] bool isBeingWritten(std::string_view fileName);

/// Removes the files that are being written. May be called in a signal handler; the process must end after it.
void removeTemporaries();

} // namespace retro::base
