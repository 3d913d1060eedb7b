// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Testing

/// Schemas of docs, applied by Python's jsonschema.
enum JSONSchema {
    /// Why documents cannot be checked; nil when they can.
    static let missing: String? = {
        let run = try? Running(
            Programs.required("python3"), ["-c", "from jsonschema import Draft202012Validator"]
        ).wait()
        guard let run else { return "there is no python3" }
        return run.status == 0 ? nil : "python3 has no jsonschema with draft 2020-12"
    }()

    /// What a document has that its schema does not allow, one line each.
    ///
    /// - Parameters:
    ///   - document: the path of the document.
    ///   - schema: the name of the schema in docs.
    ///   - mutations: expressions that change the document `f` so that the schema must reject it: a schema that accepts
    ///     everything proves nothing.
    static func errors(of document: String, by schema: String, _ mutations: [String]) throws -> String {
        let script = """
            import copy, json, sys
            from jsonschema import Draft202012Validator as V
            schema, file = (json.load(open(name)) for name in sys.argv[1:3])
            V.check_schema(schema)
            for error in V(schema).iter_errors(file): print(error.json_path, error.message)
            for mutation in sys.argv[3:]:
                changed = copy.deepcopy(file); eval(mutation, {"f": changed})
                if V(schema).is_valid(changed): print("accepts", mutation)
            """
        return try Programs.tool(
            "python3", ["-c", script, Programs.repository("docs/\(schema)"), document] + mutations
        ).text
    }
}
