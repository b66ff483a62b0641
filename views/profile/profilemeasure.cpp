// SPDX-License-Identifier: Apache-2.0
#include "views/profile/profilemeasure.h"

#include "views/common/numbertext.h"

#include <QCoreApplication>

namespace retro::views
{

namespace
{

QString profileText(const char* text) { return QCoreApplication::translate("retro::views::ProfileView", text); }

} // namespace

QString wordOf(ProfileMeasure measure)
{
    switch (measure) {
    case ProfileMeasure::Operations:
        return profileText("Operations");
    case ProfileMeasure::Bytes:
        return profileText("Bytes");
    case ProfileMeasure::Time:
        break;
    }
    return profileText("Time");
}

double measureOf(const trace::ProfileRow& row, ProfileMeasure measure)
{
    switch (measure) {
    case ProfileMeasure::Operations:
        return row.work.flops;
    case ProfileMeasure::Bytes:
        return static_cast<double>(row.work.bytes);
    case ProfileMeasure::Time:
        break;
    }
    return row.work.seconds;
}

QString measureText(double amount, ProfileMeasure measure)
{
    switch (measure) {
    case ProfileMeasure::Operations:
        return amount >= 1e9 ? profileText("%1 GFLOP").arg(valueText(amount / 1e9, 3))
                             : profileText("%1 MFLOP").arg(valueText(amount / 1e6, 3));
    case ProfileMeasure::Bytes:
        return bytesText(static_cast<std::int64_t>(amount));
    case ProfileMeasure::Time:
        break;
    }
    return amount >= 1      ? profileText("%1 s").arg(valueText(amount, 3))
           : amount >= 1e-3 ? profileText("%1 ms").arg(valueText(amount * 1e3, 3))
                            : profileText("%1 µs").arg(valueText(amount * 1e6, 3));
}

QString wordOf(event::MemoryChoice choice)
{
    switch (choice) {
    case event::MemoryChoice::Keep:
        return profileText("kept");
    case event::MemoryChoice::Drop:
        return profileText("dropped");
    case event::MemoryChoice::Recompute:
        return profileText("computed again");
    case event::MemoryChoice::Promise:
        return profileText("brought by a promise");
    case event::MemoryChoice::Pack:
        return profileText("packed");
    case event::MemoryChoice::Move:
        break;
    }
    return profileText("moved");
}

} // namespace retro::views
