// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <string>

namespace retro::base
{

/// For programs without a window. Where memory ends while nothing can be thrown (a destructor, a function of a library
/// that promises not to throw), std::terminate is called: the program then says that there is no memory left, removes
/// its temporary files and ends with `exitCode`. Every other reason for std::terminate ends it as before.
void endWithoutMemory(int exitCode);

/// The same for libraries that use what malloc did not give them (fontconfig, parts of Qt's painting): from now on, an
/// access to wrong memory, an abort() or a stop for a debugger of a thread whose last failed call was one for memory
/// (errno is ENOMEM) ends the program so. Every other one ends it by its signal, as before. Call it from the thread
/// that paints, before it does. Does nothing in programs that did not call endWithoutMemory.
void endWithoutMemoryInLibraries();

/// While one lives: the thread that made it ends the program in the same way when it goes round in circles for want of
/// memory, as fontconfig does while it starts. Looked at after every second of processor time. It also ends so when it
/// reads at a null there or stops itself, whatever errno says.
class MemoryTimer
{
public:
    MemoryTimer();
    ~MemoryTimer();
    MemoryTimer(const MemoryTimer&) = delete;
    MemoryTimer& operator=(const MemoryTimer&) = delete;
};

/// For what is drawn by libraries that go on without what they could not get (text that is left out of a picture):
/// made before, asked after. Of one thread.
class MemoryWatch
{
public:
    MemoryWatch();
    /// Errors (Memory): a call of this thread could not get memory and no other call failed after it, or there is less
    /// than kProbe left.
    [[nodiscard]] Result<void> check(const std::string& where) const;

    static constexpr std::size_t kProbe = std::size_t{256} << 10U; ///< bytes
};

} // namespace retro::base
