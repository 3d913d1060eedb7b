# SPDX-License-Identifier: GPL-2.0-or-later
"""SwiftPM refuses an app's package that depends on a target with unsafe flags: no library product may need one."""


def check(package, complain):
    targets = {target["name"]: target for target in package["targets"]}
    for product in package["products"]:
        if "library" not in product["type"]:
            continue
        needed, left = set(), list(product["targets"])
        while left:
            name = left.pop()
            if name in needed or name not in targets:
                continue
            needed.add(name)
            left += [entry[kind][0] for entry in targets[name]["dependencies"] for kind in ("byName", "target") if kind in entry]
        for name in sorted(needed):
            if any("unsafeFlags" in setting["kind"] for setting in targets[name].get("settings", [])):
                complain(f"the target {name}, which the product {product['name']} needs, has unsafe flags: apps cannot depend on it")
