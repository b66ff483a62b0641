// SPDX-License-Identifier: Apache-2.0
// Names of the built-in composites for people.
#include "views/run/rulesetting.h"
#include "views/run/runpanel.h"

#include <array>

namespace retro::views
{

namespace
{

struct CompositeName
{
    const char* name;
    const char* title;
};

constexpr std::array kComposites{
    CompositeName{"epsilon", QT_TRANSLATE_NOOP("retro::views::RunPanel", "Epsilon")},
    CompositeName{"epsilon_plus", QT_TRANSLATE_NOOP("retro::views::RunPanel", "Epsilon + z-plus")},
    CompositeName{"epsilon_plus_flat", QT_TRANSLATE_NOOP("retro::views::RunPanel", "Epsilon + z-plus, flat")},
    CompositeName{"epsilon_alpha2_beta1", QT_TRANSLATE_NOOP("retro::views::RunPanel", "Alpha 2 beta 1")},
    CompositeName{"epsilon_alpha2_beta1_flat", QT_TRANSLATE_NOOP("retro::views::RunPanel", "Alpha 2 beta 1, flat")},
    CompositeName{"epsilon_gamma_box", QT_TRANSLATE_NOOP("retro::views::RunPanel", "Gamma, box")},
    CompositeName{"attnlrp", QT_TRANSLATE_NOOP("retro::views::RunPanel", "AttnLRP")},
    CompositeName{"cp_lrp", QT_TRANSLATE_NOOP("retro::views::RunPanel", "CP-LRP")},
    CompositeName{"preset_a", QT_TRANSLATE_NOOP("retro::views::RunPanel", "Preset A")},
    CompositeName{"preset_a_flat", QT_TRANSLATE_NOOP("retro::views::RunPanel", "Preset A, flat")},
    CompositeName{"preset_b", QT_TRANSLATE_NOOP("retro::views::RunPanel", "Preset B")},
    CompositeName{"preset_b_flat", QT_TRANSLATE_NOOP("retro::views::RunPanel", "Preset B, flat")},
    CompositeName{"excitation_backprop", QT_TRANSLATE_NOOP("retro::views::RunPanel", "Excitation backprop")},
    CompositeName{"guided_backprop", QT_TRANSLATE_NOOP("retro::views::RunPanel", "Guided backprop")},
    CompositeName{"deconvnet", QT_TRANSLATE_NOOP("retro::views::RunPanel", "DeconvNet")},
    CompositeName{"beta_smooth", QT_TRANSLATE_NOOP("retro::views::RunPanel", "Beta smooth")},
    CompositeName{"dynamic", QT_TRANSLATE_NOOP("retro::views::RunPanel", "Dynamic (magnitudes)")},
    CompositeName{"gradient", QT_TRANSLATE_NOOP("retro::views::RunPanel", "Gradient")},
    CompositeName{"gradient_x_input", QT_TRANSLATE_NOOP("retro::views::RunPanel", "Gradient × input")},
};

} // namespace

QStringList RunPanel::composites()
{
    QStringList names;
    for (const CompositeName& composite : kComposites) {
        names.append(QLatin1String(composite.name));
    }
    return names;
}

QString RunPanel::compositeTitle(const QString& composite)
{
    for (const CompositeName& known : kComposites) {
        if (baseOf(composite) == QLatin1String(known.name)) {
            return tr(known.title);
        }
    }
    return composite;
}

} // namespace retro::views
