// SPDX-License-Identifier: Apache-2.0
// Names of the built-in composites for people.
#include "core/lrp/composite/builtintitle.h"
#include "core/lrp/composite/composite.h"
#include "views/run/rulesetting.h"
#include "views/run/runpanel.h"

namespace retro::views
{

QStringList RunPanel::composites()
{
    QStringList names{QStringLiteral("auto")};
    for (const std::string& name : lrp::builtinNames()) {
        names.append(QString::fromStdString(name));
    }
    return names;
}

QString RunPanel::compositeTitle(const QString& composite)
{
    if (baseOf(composite) == QLatin1String("auto")) {
        return tr("As usual for the model");
    }
    const std::string_view title = lrp::builtinTitle(baseOf(composite).toStdString());
    return title.empty() ? composite : QString::fromUtf8(title.data(), static_cast<qsizetype>(title.size()));
}

} // namespace retro::views
